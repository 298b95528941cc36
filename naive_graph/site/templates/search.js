{
  const wish = document.getElementById("wish"), found = document.getElementById("found");
  const plain = (text) => text.toLowerCase().replace(/[\s_]/g, "");
  // What an error says has ... for names and numbers: whoever pastes a message has these.
  const gaps = (said) => said.replaceAll("...", "").length > 12 && said.includes("...")
    && new RegExp(said.split("...").map((part) => part.replace(/\W/g, "\\$&")).join(".*"));
  const all = [...document.querySelectorAll(".names li")].map((item) =>
    [item, plain(item.textContent + (item.dataset.also || "")), gaps(plain(item.querySelector(".soft").textContent))]);
  const filter = () => {
    const text = plain(wish.value);
    for (const [item, words, said] of all) item.hidden = !words.includes(text) && !(said && said.test(text));
    for (const group of document.querySelectorAll("section")) {
      group.hidden = !group.querySelector("li:not([hidden])") || (!text && group.className === "more");
    }
    found.textContent = text && `${all.filter(([item]) => !item.hidden).length} found`;
  };
  wish.closest("p").hidden = false;
  wish.addEventListener("input", filter);
  wish.addEventListener("keydown", (event) => {
    const first = all.find(([item]) => !item.hidden);
    if (event.key === "Enter" && wish.value && first) first[0].querySelector("a").click();
  });
  filter();
}
