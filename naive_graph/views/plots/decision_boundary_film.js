// A film of a plane: what is seen of it at each moment is told by decision_boundary_film.py.
const filming = (root) => {
  const { moments, points } = JSON.parse(root.dataset.film);
  const find = (name) => root.querySelector(name);
  const make = (name, values, ...inside) => {
    const made = Object.assign(document.createElement(name), values);
    made.append(...inside);
    return made;
  };
  const at = make("input", { type: "range", min: 0, max: moments.length - 1, value: 0 });
  const play = make("button", { type: "button" });
  const said = make("p", { className: "ng-said" });
  let running = 0;
  const ring = ([x, y]) => `M${x - 7},${y}a7,7 0 1 0 14,0a7,7 0 1 0 -14,0`;
  const show = () => {
    const [text, field, zero, wrong, now] = moments[at.value];
    find("image").setAttribute("href", field);
    find(".ng-zero").setAttribute("d", zero);
    find(".ng-wrong").setAttribute("d", wrong.map((place) => ring(points[place])).join(""));
    find(".ng-now").setAttribute("d", now);
    said.textContent = text;
    at.setAttribute("aria-valuetext", text);
  };
  const run = (on) => {
    clearInterval(running);
    running = on ? setInterval(() => { at.value++; show(); if (at.value === at.max) run(false); }, 150) : 0;
    play.textContent = on ? "pause" : "play";
  };
  at.oninput = () => { run(false); show(); };
  play.onclick = () => { if (!running && at.value === at.max) { at.value = 0; show(); } run(!running); };
  // A notebook moves its cells by these keys.
  at.onkeydown = (event) => { if (/^(Arrow|Page|Home|End)/.test(event.key)) event.stopPropagation(); };
  find(".ng-plotted").after(make("div", { className: "ng-bar" }, play, make("label", {}, "step", at)), said);
  root.classList.add("ng-begun");
  run(false);
  show();
};
document.querySelectorAll(".ng-film:not(.ng-begun)").forEach(filming);
