// The firings of a dataflow (see views/steps/firings.py): who took and gave what, and what lies in each stream.

const MOST_HELD = 4;  // samples of a stream that are shown

function firings(walk) {
  const { operators, streams, fed, fired, pops } = walk.flow, count = fired.length + 1;
  let known = null;

  /** What lies in each stream after a step. */
  function stateAt(index) {
    if (known === null || known.index > index) {
      const lies = Object.fromEntries(Object.keys(streams).map((name) => [name, [...(fed[name] ?? [])]]));
      known = { index: 0, lies };
    }
    for (; known.index < index; known.index += 1) {
      const { taken, given, put } = fired[known.index];
      for (const name of taken) known.lies[name].splice(0, pops[name]);
      for (const [name, sample] of Object.entries(given)) known.lies[name].push(...(put[name] ?? [sample]));
    }
    return known.lies;
  }

  /** Who is at an end of a stream: an operator, or the rim where it comes from outside or goes there. */
  const end = (name, side) => streams[name][side] || `${["in", "out"][side]}-${name}`;

  const arrow = (name) => `stream-${name}`;

  function at(index) {
    const lies = stateAt(index), now = index ? fired[index - 1] : null, given = Object.keys(now?.given ?? {});
    const ends = (names, side) => [...new Set(names.map((name) => end(name, side)))];
    const lit = now ? [...now.taken, ...given].map(arrow) : [];
    return {
      index, kind: now ? "fired" : "started", phase: "firing", iteration: now?.time ?? 0, back: false, before: null,
      sentence: now?.text ?? walk.flow.begins, acting: now ? now.operator : null, taker: null,
      focus: (now ?? fired[0])?.operator,
      from: now ? ends(now.taken, 0) : [], to: ends(given, 1), edges: [...new Set(lit)],
      carried: given.map((name) => [arrow(name), now.given[name]]),
      drawing: walk.drawing, texts: () => ["", ""], queue: [], panel: () => panel(now, lies), table: () => table(lies),
      slope: "samples", name: now?.operator ?? "", place: () => null,
      counts: Object.keys(streams).map((name) => [name, arrow(name), lies[name].length]),
    };
  }

  function panel(now, lies) {
    const parts = [], list = (pairs) => make("dl", { class: "ng-streams" }, ...pairs.flatMap(([name, samples]) =>
      [make("dt", {}, name), ...samples.map((each) => make("dd", {}, each))]));
    if (now) {
      parts.push(["takes", [list(now.taken.map((name) => [name, [streams[name][0] || "from outside"]]))]]);
      parts.push(["gives", [list(Object.entries(now.given).map(([name, sample]) => [name, [sample]]))]]);
      if (now.loss !== null) parts.push(["loss", [make("p", { class: "ng-sum" }, now.loss)]]);
      const gradients = Object.entries(now.gradients).map(([name, each]) => [name, [each]]);
      if (gradients.length) parts.push(["gradients of its weights", [list(gradients)]]);
    }
    const full = Object.entries(lies).filter(([, samples]) => samples.length);
    const told = full.map(([name, samples]) => {
      const [shown, more] = some(samples, MOST_HELD);
      return [`${name}: ${samples.length}`, [...shown, ...(more ? [`… ${more} more`] : [])]];
    });
    parts.push([`what lies in the streams: ${full.length} of ${Object.keys(streams).length} hold samples`, [list(told)]]);
    return parts;
  }

  const table = (lies) => Object.entries(lies).map(([name, samples]) => [name, String(samples.length), samples[0] ?? ""]);

  /** An operator with those that it reads from and that read from it. */
  function neighbourhood(name) {
    const into = Object.keys(streams).filter((each) => streams[each][1] === name);
    const out = Object.keys(streams).filter((each) => streams[each][0] === name);
    const boxes = (names, side) => [...new Set(names.map((each) => end(each, side)))].map((row) => (
      { row, name: row.replace(/^(in|out)-/, ""), kind: operators[row] ? "operator" : "PlaceHolder" }));
    const edges = [...into, ...out].map((each) => [end(each, 0), end(each, 1), 0, arrow(each)]);
    return { left: boxes(into, 0), middle: { row: name, name, kind: "operator" }, right: boxes(out, 1), edges };
  }

  function meaning(wish) {
    const text = wish.trim();
    if (!operators[text] && !streams[text]) return null;
    return (index) => index > 0 && (fired[index - 1].operator === text || fired[index - 1].taken.includes(text) || text in fired[index - 1].given);
  }

  return {
    count, at, meaning, levels: null, iterations: [0], level: () => 0, numbered: (index) => index,
    unnumbered: (number) => number, turn: (_, index) => index, course: null,
    called: (name) => name, wishes: [...Object.keys(operators), ...Object.keys(streams)], near: ({ acting, focus }) => neighbourhood(acting ?? focus),
    around: (_, name) => { const { left, right } = neighbourhood(name);
      return [...left, ...right].map((box) => box.row); },
    kindOf: () => "operator", box: (name) => operators[name]?.[0] ?? name, bundle: (id) => streams[id.slice(7)]?.[2],
  };
}
