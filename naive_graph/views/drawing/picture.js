// A drawn graph that can be followed: fitted, moved, searched, its scopes opened and closed, its paths and cells lit.
// The picture stands there as an image already; this puts the drawing itself in its place.
// Every text is put in as text, never as markup.
const enliven = (() => {
  const HIGH = 640;  // pixels, in a notebook
  const FEW = 100;  // nodes, beyond which scopes begin closed
  const PATHS = 3, FACTORS = 8;  // that are written out
  const factor = (value) => (value < 0 ? `(${figure(value)})` : figure(value));
  const parse = (text) => JSON.parse(text ?? "{}");
  const open = (text) => new DOMParser().parseFromString(text, "image/svg+xml").documentElement;

  /** The drawing in place of its image; of a graph that the image shows in part, that part first. */
  function liven(root, code) {
    const image = root.querySelector("img"), whole = root.querySelector("template");
    const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (letter) => letter.charCodeAt(0));
    const drawings = {
      parts: { svg: open(new TextDecoder().decode(bytes)), text: root.dataset.dot },
      whole: whole && { svg: whole.content.querySelector("svg"), text: whole.dataset.dot },
      chosen: new Map(),  // of each loop, the step whose numbers its frame shows
    };
    const said = root.appendChild(make("p", { class: "ng-said", role: "status" }));
    let dot = null, shown = null;
    const life = code && enlivening(root, code, (isCalm) => shown.renew(isCalm), () => root.querySelector(".ng-view svg"));
    const show = (name, then) => {
      shown?.end();
      for (const bar of root.querySelectorAll(".ng-tools, .ng-loops")) bar.remove();
      const view = root.querySelector(".ng-view"), fresh = view.cloneNode(false), { svg, text } = drawings[name];
      view.replaceWith(fresh);
      shown = drawn(root, fresh, said, svg.cloneNode(true), text, dot, drawings.whole && dot && name, show, drawings, life, then);
    };
    show("parts");
    const ready = (found) => { if (found) { dot = found; show("parts"); } };
    dotReady().then(ready, () => {}).then(() => life?.linked());
  }

  /** One drawing. name: "parts" or "whole", where there are both; show: shows the other; drawings: both, as they
      were made; life: what computes it, if anything does; then: what is to be seen first. */
  function drawn(root, view, said, svg, text, dot, name, show, drawings, life, then) {
    view.replaceChildren(svg);
    Object.assign(view.style, { overflow: "auto" });
    const isOwn = document.documentElement.classList.contains("ng-own");  // a page of our own, and all of it
    const written = [...svg.children].filter((each) => each.tagName === "text").map((each) => { each.style.display = "none"; return each.textContent; });
    if (!isOwn) view.style.height = `${HIGH}px`;
    const all = (selector) => [...svg.querySelectorAll(selector)];
    const stage = staging(view, svg, text, dot, root.dataset.wish);
    const { nodes, frames, edges, shut, path, holder, shown } = stage;
    const label = (id) => (nodes.get(id)?.getAttribute("aria-label") ?? id).split(", ")[0].replace(/^(variable|placeholder|constant) /, "");
    const called = (id) => nodes.get(id)?.dataset.name ?? label(id);
    const tell = (words) => { said.textContent = words; stage.settle(); };  // it may take lines from the view
    const caption = written.filter((each) => !isOwn || each !== document.title).join(" ");

    function begin(id) {
      const box = id ?? (life && !dot ? `row-${life.steered.at()}` : first()), isWhole = stage.begin(box);  // dot makes room for both
      const more = opening.length ? "A box that holds more opens by a click, or by Enter." : "";
      const part = "A part is shown, so that it can be read: scroll, drag, or use the map in the corner.";
      tell(isWhole ? [caption, more].filter(Boolean).join(" ") : part);
      if (isWhole && !stage.begin(box)) tell(part);  // the words take lines from the view
    }
    /** Where reading begins: the box nearest the upper left corner. */
    function first() {
      const near = (id) => { const [x, y] = stage.spots.get(id); return x + y; };
      return [...nodes.keys()].filter((id) => shown(id) && stage.spots.has(id)).sort((one, other) => near(one) - near(other))[0];
    }
    const fit = () => { stage.fit(); tell(stage.readable() ? "" : "What would be too small to read is left out. + shows more of it."); stage.fit(); };
    const move = (across, down) => view.scrollBy(across * view.clientWidth, down * view.clientHeight);
    const steps = { "+": () => stage.zoom(1.3), "=": () => stage.zoom(1.3), "-": () => stage.zoom(1 / 1.3), 0: fit, f: fit,
      ArrowLeft: () => move(-0.2, 0), ArrowRight: () => move(0.2, 0), ArrowUp: () => move(0, -0.2), ArrowDown: () => move(0, 0.2),
      ...(name === "whole" && { Escape: () => show("parts") }) };
    view.addEventListener("keydown", (event) => {
      const step = tools && !event.ctrlKey && !event.metaKey && !event.altKey && steps[event.key];
      if (step) { step(); event.preventDefault(); event.stopPropagation(); }
    });

    // --- scopes ---
    const set = (ids, isShut) => { for (const id of ids) isShut ? shut.add(id) : shut.delete(id); };
    const inner = (id) => [...frames].filter(([, frame]) => path(frame).includes(id)).map(([each]) => each);
    function reveal(id) {  // what is in it stays closed: box by box, unless all of it is little
      set([...path(frames.get(id)), id], false);
      if (!stage.fits(inner(id)) || nodes.size > FEW) set(inner(id), true);
      stage.lay(id);
      frames.get(id).querySelector("text").focus({ preventScroll: true });
    }
    for (const [id, frame] of dot ? frames : []) {
      const words = frame.querySelector("text");
      for (const [fact, value] of Object.entries({ tabindex: 0, role: "button" })) words.setAttribute(fact, value);
      const flip = () => {
        if (shut.has(id)) return reveal(id);
        set([id], true);
        stage.lay(id);
        words.focus({ preventScroll: true });
      };
      frame.addEventListener("click", (event) => !stage.wasDragged() && (shut.has(id) || event.target === words) && flip());
      words.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) { flip(); event.preventDefault(); } });
    }
    function openAll() {  // as many as dot lays out while somebody waits
      for (const id of frames.keys()) if (stage.fits([...path(frames.get(id)), id])) set([...path(frames.get(id)), id], false);
      stage.lay();
      begin();
      if (shut.size) tell("There are too many boxes to open all scopes at once: open those that you want to see.");
      view.focus({ preventScroll: true });
    }

    // --- search ---
    let found = -1, typed = false;  // by typing the first is found: then Enter stays there
    function search(wish) {
      const words = wish.trim().toLowerCase().replace(/\.(grad|value)$/, "").replaceAll(" ", "");
      if (name === "parts" && words) return show("whole", (whole) => whole.type(wish));
      const named = (each) => (nodes.has(each.id) ? label(each.id) : each.querySelector("title").textContent.split(" = ")[0]).toLowerCase().replaceAll(" ", "");
      const hits = words ? [...nodes.values(), ...all("g.cell")].filter((each) => named(each).includes(words)) : [];
      hits.sort((a, b) => (named(a) !== words) - (named(b) !== words));  // the name itself before those that hold it
      for (const each of all(".ng-found")) each.classList.remove("ng-found");
      const more = !name && svg.querySelector("[data-first]") ? " What is folded is not searched." : "";
      if (!hits.length) return void tell(words ? `Nothing here is called ${wish.trim()}.${more}` : "");
      found = (found + 1) % hits.length;
      const hit = hits[found], node = nodes.get(hit.id) ?? nodes.get(hit.dataset.box);
      hit.classList.add("ng-found");
      to(node.id);
      tell(`${found + 1} of ${hits.length}: ${hit.getAttribute("aria-label") ?? hit.querySelector("title").textContent}`);
    }
    /** To a node, its scopes opened. */
    function to(id) {
      if (!shown(id)) { set(path(nodes.get(id)), false); stage.lay(); }
      begin(id);
      stage.point([id]);
    }
    const begun = (wish) => { [found, typed] = [-1, true]; search(wish); };

    // --- paths to the result, and the chain rule along them ---
    const out = new Map();
    for (const edge of edges) out.set(edge.dataset.from, [...(out.get(edge.dataset.from) ?? []), edge]);
    const drawn = (id) => (nodes.get(id)?.dataset.into?.split(",") ?? []).map((each) => each.split(" "));
    const hasArrow = (id, to) => svg.getElementById(`taken-${id.slice(4)}-${to.slice(4)}`);
    const into = (id) => (life?.isTouched() ? life.live.into(id) : drawn(id)).filter(([to]) => !hasArrow(id, to));
    const parsed = (partial) => Number(partial.replace("inf", "Infinity"));
    const slope = (edge) => (edge.dataset.partial === undefined ? undefined : parsed(edge.dataset.partial));
    const times = (a, b) => (a === 0 || b === 0 ? 0 : a * b);  // a branch that was not taken gives nothing
    // Where a sum was taken over by a longer one there is no arrow, and its derivative goes there as well.
    const taken = (id, rest = 1) => into(id).flatMap(([to, its]) => {
      const partial = times(rest, parsed(its));
      return [{ id: nodes.has(to) ? "edge-" : "", dataset: { to, partial: String(partial) } }, ...taken(to, partial)];
    });
    function follow(id) {
      const unseen = taken(id), reached = new Set([id, ...unseen.map((edge) => edge.dataset.to)]), lit = [];
      for (const each of reached) for (const edge of out.get(each) ?? []) { lit.push(edge); reached.add(edge.dataset.to); }
      svg.classList.add("ng-following");
      for (const each of reached) nodes.get(each)?.classList.add("ng-lit");
      for (const edge of lit) edge.classList.add("ng-lit");
      tell(chain(id, reached, [...lit, ...unseen], unseen));
    }
    function chain(id, reached, lit, unseen) {
      const ends = [...reached].filter((each) => each !== id && !(out.get(each) ?? []).length);
      const words = nodes.get(id)?.getAttribute("aria-label") ?? "";
      if (ends.length !== 1) return ends.length ? `${words}. It reaches ${ends.length} results.` : words;
      if (lit.some((edge) => !edge.id.startsWith("edge-"))) return words;
      const ways = (at) => [...(out.get(at) ?? []), ...(at === id ? unseen : [])].filter((edge) => slope(edge) !== undefined);  // no derivative goes by another
      const sums = new Map([[ends[0], 1]]), counts = new Map([[ends[0], 1]]);  // of the products along all paths from there
      const order = [], seen = new Set([id]), open = [[id, 0]];
      while (open.length) {
        const [at, place] = open.at(-1), next = ways(at)[place];
        if (!next) { order.push(at); open.pop(); continue; }
        open.at(-1)[1] += 1;
        if (!seen.has(next.dataset.to)) { seen.add(next.dataset.to); open.push([next.dataset.to, 0]); }
      }
      const reaches = (edge) => counts.get(edge.dataset.to) > 0;
      for (const at of order) if (at !== ends[0]) {
        sums.set(at, ways(at).filter(reaches).reduce((sum, edge) => sum + times(slope(edge), sums.get(edge.dataset.to)), 0));
        counts.set(at, ways(at).reduce((sum, edge) => sum + (counts.get(edge.dataset.to) ?? 0), 0));
      }
      if (!counts.get(id)) return words;
      const product = (factors) => factors.map(factor).filter((each) => each !== "1").join("·") || "1";
      const paths = [], [top, bottom] = [ends[0], id].map(called), short = [top, bottom].every((each) => [...each].length === 1);
      const walk = (at, factors) => {
        if (at === ends[0]) return void paths.push(product(factors));
        for (const edge of ways(at).filter(reaches)) walk(edge.dataset.to, [...factors, slope(edge)]);
      };
      const result = figure(sums.get(id)), head = `${short ? `d${top}/d${bottom}` : `d(${top})/d(${bottom})`} = `;
      if (counts.get(id) <= PATHS) walk(id, []);
      const sum = paths.join("  +  "), isShort = sum && Math.max(...paths.map((each) => each.split("·").length)) <= FACTORS;
      const near = ways(id).filter(reaches), many = counts.get(id) > 1 ? ` (${counts.get(id).toLocaleString("en")} paths)` : "";
      const nearest = (few) => {  // the nearest operators, and what each hands on
        const terms = near.slice(0, few), others = counts.get(id) - terms.reduce((all, edge) => all + counts.get(edge.dataset.to), 0);
        const said = terms.map((edge) => `${product([slope(edge), sums.get(edge.dataset.to)])} by ${called(edge.dataset.to)}`).join("  +  ");
        return `${head}${few ? `${said}${others ? ` and ${others.toLocaleString("en")} more paths` : ""}  =  ` : ""}${result}${many}`;
      };
      const forms = [...(isShort ? [head + (sum === result ? sum : `${sum}  =  ${result}`)] : []), ...[2, 1, 0].map(nearest)];
      return forms.find((each) => { tell(each); return said.scrollHeight <= said.clientHeight; }) ?? forms.at(-1);
    }

    // --- other values of the leaves ---
    const numbers = life && writing(life.live, stage, life.wishes);
    for (const { node, step } of numbers?.leaves ?? []) ranged(node, life.live.values[step]);
    if (life) view.addEventListener("pointerdown", life.steered.dragged, true);  // before a drag moves the drawing
    /** The numbers as they are now. At first the boxes get room for any; isCalm: no more come for a while. */
    function renew(isCalm) {
      if (isCalm) return void svg.querySelector("g.node:is(:hover, :focus)")?.dispatchEvent(new Event("focusin", { bubbles: true }));
      if (!numbers.isRoomy()) {
        numbers.room();
        stage.spread(root.dataset.places && JSON.parse(root.dataset.places), `row-${life.steered.at()}`);
        if (!isOwn) view.style.height = `${Math.min(HIGH, Math.max(60, Math.ceil(svg.viewBox.baseVal.height) + 4))}px`;
        if (!name) stage.begin(`row-${life.steered.at()}`);
      }
      clear();
      tell("");
      numbers.write();
    }

    // --- the steps of loops ---
    const whole = drawings.whole?.svg, loops = new Map();  // how often each loop runs
    const bodies = all("g.node[data-passes]").filter((node) => life || (dot && node.dataset.passes.split(" ").every((id) => whole?.getElementById(id))));
    const around = (node) => path(node).filter((each) => each.startsWith("loop-")), counts = (node) => node.dataset.counts.split(" ").map(Number);
    for (const node of bodies) counts(node).forEach((count, at) => loops.set(around(node)[at], count));
    /** For each loop a field in which the step is chosen whose numbers its frame shows. */
    function loopsBar() {
      const bar = make("div", { class: "ng-loops" }), isOne = loops.size === 1;
      for (const [loop, count] of [...loops].sort()) {
        const words = `step of the loop${isOne ? "" : ` of ${count}`}`, now = drawings.chosen.get(loop) ?? count;
        const said = make("output", {}, `${now} of ${count}`), slider = make("input", { type: "range", min: 1, max: count, value: now, "aria-label": words });
        slider.oninput = () => {
          drawings.chosen.set(loop, Number(slider.value));
          said.textContent = `${slider.value} of ${count}`;
          chooseSteps();
        };
        bar.append(make("label", {}, words, slider, said));
      }
      return bar;
    }
    /** The numbers of the chosen steps, each counted from 1; of other loops of the last. */
    function chooseSteps() {
      const at = (loop) => (drawings.chosen.get(loop) ?? loops.get(loop)) - 1;
      for (const node of bodies) {
        const place = counts(node).reduceRight((sum, count, depth) => sum * count + at(around(node)[depth]), 0), its = node.dataset.passes.split(" ")[place];
        numbers ? (node.dataset.row = its) : showAs(node, whole.getElementById(its));
      }
      for (const [loop, step] of drawings.chosen) {
        const count = loops.get(loop);
        frames.get(loop).querySelector("title").textContent = `${count.toLocaleString("en")} times: ${step === count ? "the last" : `step ${step}`} is shown`;
      }
      numbers ? renew() : stage.spread();
      stage.grow();
    }
    /** A box of a loop's body with all that this one of the whole drawing says. */
    function showAs(node, its) {
      const own = node.querySelector("text").textContent, next = " (to the next step)";
      node.replaceChildren(...its.cloneNode(true).children);
      if (own.endsWith(next)) node.querySelector("text").textContent += next;
      for (const each of node.querySelectorAll(".cell")) { each.dataset.box = node.id; each.id = `${node.id}-cell-${each.dataset.at}`; }
      node.setAttribute("aria-label", its.getAttribute("aria-label"));
    }

    // --- cells, and the cells that feed them ---
    const cell = (box, at) => svg.getElementById(`${box}-cell-${at}`);
    function trace(hovered) {
      const start = hovered.dataset, lit = new Set([`${start.box} ${start.at}`]);
      for (const each of lit) {
        const [box, at] = each.split(" "), node = nodes.get(box);
        cell(box, at)?.classList.add("ng-lit");
        if (box !== start.box && !node?.dataset.through) continue;  // a name of the learner's: enough is said
        for (const [source, places] of Object.entries(parse(node?.dataset.feeds))) for (const place of places[at] ?? []) lit.add(`${source} ${place}`);
      }
      const formula = nodes.get(start.box)?.dataset.formula, words = hovered.querySelector("title")?.textContent ?? "";
      const letters = formula?.match(/\[([^\]]*)\]/)?.[1].split(",") ?? [], places = words.match(/\[([^\]]*)\]/)?.[1].split(",") ?? [];
      const where = letters.length === places.length ? letters.map((letter, at) => `${letter} = ${places[at]}`).join(", ") : "";
      tell(formula ? `${words}:  ${formula}${where && `,  where ${where}`}` : words);
    }
    function clear() {
      svg.classList.remove("ng-following");
      for (const each of all(".ng-lit")) each.classList.remove("ng-lit");
    }
    svg.addEventListener("click", (event) => { root.clicked = event; }, true);
    const still = (event) => Math.hypot(event.clientX - root.clicked?.clientX, event.clientY - root.clicked?.clientY) < 2;
    const point = (event) => {
      clear();
      if (event.type === "pointerover" && still(event)) return;  // it came to lie there
      const over = event.target.closest?.("g.cell, g.node");
      if (over) over.classList.contains("cell") ? trace(over) : follow(over.id);
    };
    svg.addEventListener("pointerover", point);
    view.addEventListener("focusin", point);  // on the drawing itself, it would make that a stop of Tab
    svg.addEventListener("pointerleave", clear);
    view.addEventListener("focusout", clear);

    // --- from a part to the whole ---
    /** The frame of what stands folded in the parts. */
    const frameOf = (part) => frames.get(nodes.has(part.dataset.first) ? path(nodes.get(part.dataset.first))[path(part).length] : `scope-${part.id}`);
    function go(part) {  // to the node of that name, or to the scope that stood folded
      root.dataset.part = part.id;
      const frame = frameOf(part), node = nodes.get(part.id);
      if (frame) { reveal(frame.id); begin(frame.id); return void stage.center(frame.id); }
      to(node?.id);
      node?.focus({ preventScroll: true });
      const alike = (part.dataset.alike ?? "").split(" ").filter((id) => nodes.has(id));
      if (!alike.length) return;
      clear();  // the paths from the first would dim the others
      for (const id of alike) nodes.get(id).classList.add("ng-found");
      stage.point(alike);
      tell(`${called(node.id)}: the first of ${alike.length} that are alike. All of them are marked.`);
    }
    const opening = name === "parts" ? all("g.node:is([id^=scope-], [data-first])") : [];
    for (const part of opening) {
      const opens = () => !stage.wasDragged() && show("whole", (whole) => whole.go(part));
      for (const [fact, value] of Object.entries({ role: "button", "aria-expanded": false })) part.setAttribute(fact, value);
      part.style.cursor = "pointer";
      part.addEventListener("click", opens);
      part.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); opens(); } });
    }

    // --- tools, where they are needed ---
    const [, , across, down] = svg.getAttribute("viewBox").split(" ").map(Number);
    const isLarge = across > view.clientWidth || down > (isOwn ? view.clientHeight : HIGH);
    const gradients = make("button", { type: "button", hidden: true, "aria-pressed": false, onclick: () => {
      gradients.setAttribute("aria-pressed", gradients.getAttribute("aria-pressed") !== "true");
      layOut();
      begin();
    } }, "gradients");
    const tools = (name || isLarge) && make("div", { class: "ng-tools" });
    if (tools) {
      const button = (words, label, act) => tools.append(make("button", { type: "button", "aria-label": label, title: label, onclick: act }, words));
      if (name === "whole") button("← back", "back to the graph in few boxes", () => show("parts"));
      button("+", "larger", () => stage.zoom(1.3));
      button("−", "smaller", () => stage.zoom(1 / 1.3));
      button("fit", "the whole picture", fit);
      if (name === "parts") button("all nodes", "show every node", () => show("whole", (whole) => whole.openAll()));
      if (dot && frames.size) button("open all", "open every scope", openAll);
      if (dot && frames.size) button("close all", "close every scope", () => {
        if (name && !drawings.parts.svg.querySelector("g.cluster")) return show("parts");
        set(frames.keys(), true);
        stage.lay();
        begin();
      });
      const box = tools.appendChild(make("input", { type: "search", placeholder: "search", "aria-label": "search for a node" }));
      box.oninput = () => begun(box.value);
      box.onkeydown = (event) => { event.stopPropagation(); if (event.key === "Enter") typed ? (typed = false) : search(box.value); };
      root.prepend(tools);
      view.setAttribute("aria-label", "the picture: + and − zoom, arrows move, f fits");
    }
    if (tools) tools.append(gradients);
    if (loops.size) view.before(loopsBar());
    const type = (wish) => { const box = tools.querySelector("input"); box.value = wish; box.focus(); begun(wish); };

    /** On a phone boxes go without gradients where all of them could not be read with these; a button shows them. */
    function layOut() {
      stage.brief(false);
      const isDone = stage.lay(null, false), isCrowded = isDone && name !== "whole" && view.clientWidth < NARROW && !stage.begin();
      gradients.hidden = !isCrowded || !stage.hasGrads();
      const isBrief = isCrowded && stage.brief(gradients.getAttribute("aria-pressed") !== "true");
      return isBrief ? stage.lay(null, false) : isDone;
    }
    /** Laid out for this window, unless Python's places serve as well. */
    function start() {
      if (name === "whole") set([...drawings.parts.svg.querySelectorAll("g.node")].map((each) => frameOf(each)?.id).filter(Boolean), true);
      if (name !== "whole") stage.read();
      if (!isOwn) view.style.height = `${Math.min(HIGH, Math.max(60, Math.ceil(down) + 4))}px`;
      const isSmall = name !== "whole" && across < view.clientWidth && down < view.clientHeight + 5;
      if (dot && !isSmall && !layOut() && name === "whole") {
        return show("parts", () => tell("All of it is more than dot can lay out here. See a part with draw(node, most=100)."));
      }
      const isWhole = stage.begin();
      if (dot && nodes.size > FEW && frames.size && !shut.size && !isWhole) { set(frames.keys(), true); stage.lay(null, false); }
      then ? then({ go, type, openAll }) : begin();
      if (name === "parts") svg.getElementById(root.dataset.part)?.focus({ preventScroll: true });
    }
    let room = view.clientWidth;
    if (room) start();
    const watch = new ResizeObserver(() => {
      if (!view.clientWidth || (room && Math.abs(view.clientWidth - room) < 30)) return;  // 0: it is taken away, or not there yet
      room ? (layOut(), begin()) : start();
      room = view.clientWidth;
    });
    watch.observe(view);
    if (drawings.chosen.size && loops.size) chooseSteps();
    else if (life?.isTouched()) renew();
    return { renew, end: () => { watch.disconnect(); stage.end(); } };
  }
  /** Every picture that computes by this code, or not at all. */
  return (key, code) => {
    for (const root of document.querySelectorAll(".ng-picture:not(.ng-live)")) if (root.dataset.code === key) {
      root.classList.add("ng-live");
      liven(root, code);
    }
  };
})();
