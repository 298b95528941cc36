// One view of a walk, for a notebook's widget and for a saved page.
//
// mount(el, walk, state, code, alone) shows `walk` in `el`. state.get() and state.set(i) hold the index of the
// step. code: what computes it anew, if anything does. alone: whether the page is ours, so that every key is meant for us.

const SPEEDS = { "slow": 1600, "normal": 800, "fast": 300, "very fast": 60 };
const KEYS = [
  ["→  ←", "next, previous step"], ["Home  End", "first, last step"], ["Space", "play, pause"],
  ["1  2  3", "show values; contributions; the queue as well"], ["g", "type a step"], ["/", "find a step"],
  ["b  B", "next, previous found"], ["s", "find steps of this node, or no longer"],
  ["Page Down  Page Up", "next, previous iteration"], ["w", "the whole drawing or the node at hand"],
  ["+  −  0", "zoom in, out, all"], ["?", "this list"],
];
const COUNTED = "Steps are counted as they are shown: more detail has more steps. steps[...] in Python counts them all.";
const COLOURED = "Red and thick, under a pointer: who acts. Blue: what it takes from. Green: what it gives to. Dashed: ready, in the queue. Click a node to stop wherever it takes part; a folded box to open it.";
const SOON = 250;  // milliseconds after which the address follows the step

export function mount(el, walk, state, code = null, alone = false) {
  tongue = walk.tongue ?? {};
  const teller = walk.flow ? firings(walk) : sweeps(walk), last = teller.count - 1, iterations = teller.iterations.length;
  let view = null;      // the step that is shown
  let timer = null;     // of playing
  let level = 1;        // values, contributions, queue: how much is told, and so how steps are counted
  let found = null;     // what is looked for: whether an event is one

  // --- the parts of the page ---

  const first = button("|◀", "first step", () => go(0));
  const previous = button("◀", "previous step", () => move(-1));
  const play = button(spoken("▶ play"), "play", toggle);
  const next = button("▶", "next step", () => move(1));
  const final = button("▶|", "last step", () => goTo(most()));
  const slider = make("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": spoken("step"), oninput: () => goTo(Number(slider.value)) });
  const typed = make("input", { type: "number", min: 0, "aria-label": spoken("go to step"), onchange: () => jump(Number(typed.value)) });
  const total = make("span", {}), inPython = make("code", { class: "ng-spare" });
  const speed = make("select", { "aria-label": spoken("speed") }, ...Object.keys(SPEEDS).map((name) => make("option",
    { value: name, selected: name === "normal" }, spoken(name))));
  const iteration = make("input", { type: "number", min: 0, max: iterations - 1, "aria-label": spoken("iteration"),
    onchange: () => toIteration(Number(iteration.value)) });
  const levels = (teller.levels ?? []).map((name, at) => button(spoken(name), `${filled(spoken("show {what}"), { what: spoken(name) })} (${at + 1})`, () => choose(at)));
  const wish = make("input", { type: "search", list: "", "aria-label": spoken("find"), placeholder: `${spoken("find")} ${teller.wishes[1] ?? ""}`,
    oninput: () => { picture.stops.clear(); understood(); }, onchange: () => understood() });
  const offers = make("datalist", { id: `ng-${Math.random().toString(36).slice(2)}` },...teller.wishes.map((value) => make("option", { value })));
  wish.setAttribute("list", offers.id);
  const sentence = make("p", { class: "ng-sentence", "aria-live": "polite", role: "status" });
  const picture = picturing(walk, teller, { clicked, level: () => level, pace: () => (timer === null ? 2000 : SPEEDS[speed.value]) });
  const panel = paneling(walk, teller, go), live = code && teller.count ? teller.live(code) : null;
  const steered = live && steering(live, followed, () => picture.frame.querySelector(".ng-drawing svg"));
  const help = make("div", { class: "ng-help", hidden: true, tabindex: 0, role: "group", "aria-label": spoken("keys and colours") }, make("dl", {},
    ...KEYS.flatMap(([keys, says]) => [make("dt", {}, keys), make("dd", {}, spoken(says))])),
    make("p", {}, spoken(COLOURED)), make("p", {}, spoken(COUNTED)));
  const more = button(spoken("⋯ more"), "more controls", () => showTools(more.getAttribute("aria-expanded") === "false"),
    { class: "ng-more", "aria-expanded": "false" });
  const tools = make("div", { class: "ng-bar ng-tools" },
    ...(levels.length ? [make("span", { class: "ng-levels", role: "group", "aria-label": spoken("how much is told") },...levels)] : []),
    make("label", {}, spoken("speed"), speed), ...(iterations > 1 ? [make("label", {}, spoken("iteration"), iteration)] : []),
    wish, offers, button("◁", "previous found (B)", () => search(-1)), button("▷", "next found (b)", () => search(1)),
    button("◎", "the whole drawing or the node at hand (w)", () => picture.toggle()),
    button("+", "zoom in", () => picture.zoomBy(1.25)), button("−", "zoom out", () => picture.zoomBy(1 / 1.25)),
    button(spoken("fit"), "fit the drawing", () => picture.fitted()), button("?", "list of keys", () => toggleHelp()));
  const heading = walk.heading ? parsed(walk.heading, "application/xml") : walk.title;
  const root = make("section", { class: "ng-stepper", "aria-label": walk.title, tabindex: -1 }, make("h2", { class: "ng-heading" }, heading),
    make("div", { class: "ng-bar", role: "toolbar", "aria-label": "Walk" }, first, previous, play, next, final, more,
      slider, make("label", {}, spoken("step"), typed, total), inPython),
    tools, ...(steered ? [steered.bar] : []), sentence, help, make("div", { class: "ng-main" }, picture.frame, panel.box));
  if (steered) {
    panel.box.lastChild.before(steered.charts);
    root.classList.add("ng-lively");
    picture.frame.addEventListener("pointerdown", steered.dragged, true);  // before a drag moves the drawing
    help.append(make("p", {}, spoken("Drag the box of a leaf to the side to change its value; or use its slider.")));
  }
  el.replaceChildren(root);
  // A notebook listens at the document, before us; so we listen before it, to what is meant for us alone.
  const heard = (event) => { if (meant(event)) key(event); };
  window.addEventListener("keydown", heard, true);

  /** Whether a key is for us: on a page of our own every one; in a notebook those within, and arrows in our cell or the next. */
  function meant(event) {
    if (alone || root.contains(event.target)) return true;
    const cell = root.closest(".jp-Cell"), next = cell?.nextElementSibling;  // to which Shift+Enter goes on
    const near = [cell, next?.querySelector(".ng-stepper") ? null : next];
    const chosen = near.some((each) => each?.matches(".jp-mod-active, .jp-mod-selected"));
    const writes = event.target.closest?.("input, textarea, select, [contenteditable=true]");
    if (!chosen || writes || !["ArrowRight", "ArrowLeft"].includes(event.key)) return false;
    root.focus({ preventScroll: true });
    return true;
  }

  // --- moving ---

  function go(index) {
    const target = Math.max(0, Math.min(last, Math.trunc(index) || 0)), before = view && number();
    view = teller.at(target);
    state.set(target);
    show(before !== null && number() === before + 1);
  }

  /** The number of the step that is shown, among those that this level tells; and to go to a step by its number. */
  const number = () => teller.numbered(view.index, level), most = () => teller.numbered(last, level);
  const goTo = (wanted) => go(teller.unnumbered(Math.max(0, Math.min(most(), Math.trunc(wanted) || 0)), level));
  /** Go to a number that was written: where the page has fewer steps, that is said. */
  function jump(wanted) {
    goTo(wanted);
    if (wanted > most()) sentence.textContent = filled(spoken("There is no step {wanted} here: this is the last, {last}."), { wanted, last: most() }) + ` ${view.sentence}`;
  }

  const isTold = () => teller.level(view.index) <= level;

  const move = (direction) => goTo(number() + (direction > 0 || isTold() ? direction : 0));

  const toIteration = (place) => go(teller.iterations[Math.max(0, Math.min(iterations - 1, place))]);

  const iterationAt = (index) => placeAmong(teller.iterations, index, iterations);

  function toggle() {
    if (timer !== null) return pause();
    play.replaceChildren(spoken("⏸ pause"));
    play.setAttribute("aria-label", spoken("pause"));
    sentence.setAttribute("aria-live", "off");  // a reader cannot follow every step of a film
    const tick = () => {
      if (number() === most()) go(0);
      else move(1);
      if (number() === most() || found?.(view.index)) pause();
      else timer = setTimeout(tick, SPEEDS[speed.value]);
    };
    timer = setTimeout(tick, 0);
  }

  function pause() {
    clearTimeout(timer);
    timer = null;
    play.replaceChildren(spoken("▶ play"));
    play.setAttribute("aria-label", spoken("play"));
    sentence.setAttribute("aria-live", "polite");
  }

  function choose(at) {
    level = at;
    levels.forEach((each, place) => each.setAttribute("aria-pressed", String(place === at)));
    slider.max = typed.max = most();
    total.textContent = filled(spoken(" of {count}"), { count: most().toLocaleString("en") });
    if (view) goTo(number() + !isTold());
  }

  const toggleHelp = () => { help.hidden = !help.hidden; };

  function key(event) {
    const target = event.target, typing = ["SELECT", "TEXTAREA"].includes(target.tagName) || (target.tagName === "INPUT" && target.type !== "range");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ((typing && target !== wish && target !== typed) || steered?.bar.contains(target)) return;
    if (typing) {
      if (event.key === "Escape") root.focus();
      if (event.key !== "Enter") return;
      taken(event);
      if (target === wish) return search(event.shiftKey ? -1 : 1);
      return root.focus({ preventScroll: true });  // the field hears its change; the next arrow is a step again
    }
    const onButton = ["BUTTON", "SUMMARY"].includes(target.tagName) || target.getAttribute?.("role") === "button", onSlider = target === slider;
    const acts = {
      ArrowRight: () => !onSlider && move(1), ArrowLeft: () => !onSlider && move(-1), Home: () => !onSlider && go(0),
        End: () => !onSlider && goTo(most()),
      " ": () => !onButton && toggle(), b: () => search(1), B: () => search(-1), s: findThis, g: () => typed.select(),
        "/": () => { showTools(true); wish.select(); },
      PageDown: () => !onSlider && toIteration(iterationAt(view.index) + 1), PageUp: () => !onSlider && toIteration(iterationAt(view.index) - 1),
      "+": () => picture.zoomBy(1.25), "-": () => picture.zoomBy(1 / 1.25), "0": () => picture.fitted(),
        w: () => picture.toggle(), "?": toggleHelp, Escape: () => !help.hidden && toggleHelp(),
      ...Object.fromEntries(levels.map((_, at) => [String(at + 1), () => choose(at)])),
    };
    const act = acts[event.key];
    if (act === undefined || act() === false) return;
    taken(event);
  }

  function taken(event) {
    event.preventDefault();
    event.stopImmediatePropagation();  // a notebook has meanings of its own for these keys
  }

  function showTools(shown) {  // where there is little room they are hidden at first
    more.setAttribute("aria-expanded", String(shown));
    for (const each of [tools, steered?.bar]) each?.classList.toggle("ng-shown", shown);
  }

  /** Other values: the step at hand is told anew; before any, where the walk leads. */
  function followed() {
    go(view.index || last);
  }

  // --- finding ---

  /** What the learner looks for, as a question to events; several wishes stand between commas. */
  function understood() {
    const parts = wish.value.split(/,(?![^(]*\))/).map((each) => each.trim()).filter(Boolean), meanings = parts.map((each) => teller.meaning(each));
    found = parts.length && meanings.every(Boolean) ? (index) => meanings.some((each) => each(index)) : null;
    wish.setAttribute("aria-invalid", String(parts.length > 0 && !found && !/^\d+$/.test(wish.value.trim())));
    return found;
  }

  function search(direction) {
    if (/^\d+$/.test(wish.value.trim())) return jump(Number(wish.value));
    if (!understood()) {
      const none = wish.value.trim() ? filled(spoken("Nothing is called {name}. Try:"), { name: wish.value }) : spoken("Say first what to find:");
      return void (sentence.textContent = filled(spoken("{none} {some}, or the number of a step."), { none, some: teller.wishes.slice(0, 3).join(", ") }));
    }
    for (let at = view.index + direction; at >= 0 && at <= last; at += direction) {
      if (!found(at)) continue;
      if (teller.level(at) > level) choose(teller.level(at));
      return go(at);
    }
    sentence.textContent = spoken("There is none in this direction.");
  }

  function clicked(row) {
    if (!picture.stops.delete(row)) picture.stops.add(row);
    wish.value = [...picture.stops].map(teller.called).join(", ");
    understood();
    picture.paint();
  }

  function findThis() {
    if (view.acting === null) return;
    const row = view.taker ?? view.acting;
    clicked(row);
    sentence.textContent = filled(picture.stops.has(row) ? spoken("The walk stops at {name}.") : spoken("The walk no longer stops at {name}."), { name: view.name });
  }

  // --- showing ---

  function show(moving) {
    const { index } = view;
    root.dataset.step = String(index);
    slider.value = typed.value = number();
    slider.setAttribute("aria-valuetext", filled(spoken("step {number} of {count}"), { number: number(), count: most() }));
    inPython.textContent = filled(spoken("in Python: {place}"), { place: `steps[${index}]` });
    first.disabled = previous.disabled = index === 0;
    next.disabled = final.disabled = number() === most();
    if (iterations > 1) iteration.value = String(iterationAt(index));
    sentence.textContent = view.sentence;
    panel.show(view, level);
    picture.show(view, moving);
    link();
  }

  // --- a link to a step ---

  let linking = null;

  function link() {
    if (!alone) return;
    clearTimeout(linking);
    linking = setTimeout(() => {
      const its = levels.length ? `&level=${level + 1}` : "";
      try { history.replaceState(null, "", `#step=${number()}${its}${steered?.link() ?? ""}`); } catch { /* a frame without an address */ }
    }, SOON);
  }

  const linked = (event) => {  // a link that was followed, in whose place the step before may have been written meanwhile
    const hash = event ? new URL(event.newURL).hash : location.hash;
    const [, wanted, its, values] = hash.match(/^#step=(\d+)(?:&level=([123]))?(?:&leaves=([-+.\de,]+))?$/) ?? [];
    if (!alone || wanted === undefined) return;
    if (values) steered?.restore(values.split(",").map(Number));
    choose(its ? Number(its) - 1 : 1);  // it counts as the page does that it opens
    jump(Number(wanted));
  };
  window.addEventListener("hashchange", linked);

  function end() {
    pause();
    picture.end();
    clearTimeout(linking);
    window.removeEventListener("keydown", heard, true);
    window.removeEventListener("hashchange", linked);
  }

  if (teller.count === 0) {
    sentence.textContent = spoken("Nothing was recorded.");
    for (const each of root.querySelectorAll("button, select, input")) each.disabled = true;
    return { go() {}, end };
  }
  choose(1);
  go(state.get());
  linked();
  dotReady().then(picture.ready, () => {});
  return { go, end };
}

// --- in a notebook ---

/** The code that came with a walk: rules and trainers; null where there is none, or a page lets none in. */
async function imported(text) {
  if (!text) return null;
  const address = URL.createObjectURL(new Blob([`${text}\nexport { rules, trainers };`], { type: "text/javascript" }));
  try { return await import(address); } catch { return null; } finally { URL.revokeObjectURL(address); }
}

export default {
  render({ model, el }) {
    let view = null;
    dotReady(model.get("dot") || undefined);
    const moved = () => view?.go(model.get("index"));
    const bytes = model.get("walk");
    const packed = bytes.buffer ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : bytes;
    Promise.all([unpacked(packed), imported(model.get("live"))]).then(([walk, code]) => {
      view = mount(el, walk, {
        get: () => model.get("index"),
        set: (index) => { model.set("index", index); model.save_changes(); },
      }, code);
      // The still picture is not needed while we live. It may come after us, and is back when we are gone.
      el.append(make("style", {}, `[data-ng-still="${CSS.escape(model.get("still"))}"] { display: none; }`));
      model.on("change:index", moved);
    });
    return () => { view?.end(); model.off("change:index", moved); };
  },
};

// --- on a page of its own ---

export async function start(code) {
  const root = document.getElementById("stepper");
  if (!window.DecompressionStream) return void (root.textContent = "This page needs a browser of 2023 or later.");
  const text = atob(document.getElementById("walk").textContent), bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  let index = 0;
  mount(root, await unpacked(bytes), { get: () => index, set: (to) => { index = to; } }, code, true);
}
