// The function of the front page rolls downhill at once, until somebody touches it; its numbers stand beside it.
{
  const hero = document.getElementById("hero"), numbers = document.getElementById("numbers");
  const buttons = [...hero.querySelectorAll(".ng-bar button")];
  const down = buttons.find((each) => each.textContent === "downhill"), rate = hero.querySelector(".ng-bar input[min='0']");
  document.getElementById("ask").hidden = false;
  const tell = () => {
    const boxes = [...hero.querySelectorAll("g.node")].map((box) => [...box.querySelectorAll("text")].map((text) => text.textContent).filter(Boolean));
    const leaf = boxes.find(([name]) => name === "x"), result = boxes.find(([name]) => name?.startsWith("f"));
    if (leaf && result) numbers.textContent = `x = ${leaf[1]}, f = ${result[1]}, df/dx = ${(leaf[2] ?? "").replace("grad ", "")}`;
  };
  const steps = 90;
  let count = 0;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const roll = down && !still ? setInterval(() => { rate.value = 0.6; down.click(); tell(); if ((count += 1) >= steps) stop(); }, 120) : 0;
  const stop = () => clearInterval(roll);
  for (const touched of ["pointerdown", "keydown"]) hero.addEventListener(touched, (event) => { if (event.isTrusted) stop(); });
  for (const moved of ["input", "pointermove", "click"]) hero.addEventListener(moved, () => requestAnimationFrame(tell));
  setTimeout(tell, 300);
}
