// The events of sweeps, told: a step in words and figures, what is lit at it, and how it is found.

const MOST_CHIPS = 20;   // of the queue
const MOST_VALUES = 300; // in the table
const MOST_WISHES = 100; // names that are offered

function sweeps(walk) {
  const replay = replaying(walk), { arithmetic, running, sentence } = wording(walk, replay);
  const { KINDS, casts, patterns, runs, numbers, starts, floatStarts, iterations, iterationOf } = replay;
  const { count, event, stateAt, constants } = replay;
  const [STARTED, ENQUEUED, READ, EVALUATED, CONTRIBUTED, FINISHED, MOVED] = KINDS.keys();

  // --- a step, as the page shows it ---

  function at(index) {
    const state = stateAt(index), { cast, pattern, place } = state, kind = KINDS[pattern.kinds[place]];
    const step = pattern.steps[place], taker = pattern.takers[place], back = pattern.phase === "backward";
    const row = (each) => cast.rows[each], acts = kind !== "started";
    const first = acts ? step : pattern.takers[Math.min(place + 1, pattern.count - 1)];  // who acts next
    const operands = acts ? cast.fed(step) : [], users = acts ? cast.users(step) : [];
    const edge = (position) => `edge-${row(operands[position])}-${row(step)}-${position}`;
    const taken = () => operands.map((each, position) => [edge(position), figure(state.values[each])]);
    const handed = () => [[edge(pattern.positions[place]), figure(state.shares[place])]];
    const carried = kind === "evaluated" ? taken() : kind === "contributed" ? handed() : [];
    const before = kind === "contributed" && state.before !== null ? figure(state.before) : null;
    return {
      index, kind, phase: pattern.phase, iteration: iterationOf[state.run], sentence: sentence(state),
      acting: acts ? row(step) : null, focus: row(first), from: (back ? users : operands).map(row),
      to: (back ? operands.filter(cast.varies) : users).map(row), taker: kind === "contributed" ? row(taker) : null,
      edges: carried.map(([id]) => id), carried, back, before, drawing: cast.drawing, alike: alikeOf(cast),
      texts: (each) => textsOf(state, cast.stepOf.get(each)), queue: queueOf(state),
      panel: (level) => panel(state, level),
      table: () => table(state), slope: pattern.phase === "tangent" ? "slope" : "grad", name: cast.called(taker),
      place: () => origin(cast, step),
    };
  }

  function textsOf(state, step) {
    if (step === undefined || !state.cast.varies(step)) return ["", ""];
    return [state.has[step] || state.given.has(step) ? figure(state.values[step]) : "", state.graded[step] ? figure(state.grads[step]) : ""];
  }

  /** The queue in the order in which its rows act: on the way back that is the order of forward, reversed. */
  function queueOf(state) {
    const rows = [...state.queue];
    if (state.pattern.phase === "backward") rows.sort((a, b) => b - a);
    return rows.map((step) => state.cast.rows[step]);
  }

  /** In a drawing of what is alike, the box of each row. */
  function alikeOf(cast) {
    if (!cast.drawing?.boxes) return null;
    cast.boxes ??= walk.column(Int32Array, cast.drawing.boxes);
    return (each) => `alike-${cast.boxes[cast.stepOf.get(each)]}`;
  }

  const origin = (cast, step) => walk.origins[cast.origins[step]];

  /** How many operands (forward) or uses (backward) a step still waits for. */
  function waiting(state, step, done) {
    const { cast, pattern, place } = state, at = pattern.kinds[place] === CONTRIBUTED ? pattern.steps[place] : -1;
    if (pattern.phase !== "backward") return cast.fed(step).filter((each) => !state.has[each]).length;
    if (!cast.varies(step)) return 0;
    let left = 0;
    for (const user of new Set(cast.users(step))) {
      cast.fed(user).forEach((operand, position) => {
        if (operand !== step || done[user]) return;
        left += Number(user !== at || position > pattern.positions[place]);
      });
    }
    return left;
  }

  /** Which steps of a reverse run are done. */
  function finished(state) {
    const done = new Uint8Array(state.cast.rows.length);
    const { kinds, steps } = state.pattern;
    for (let at = 0; at <= state.place; at += 1) if (kinds[at] === FINISHED) done[steps[at]] = 1;
    return done;
  }

  function panel(state, level) {
    const { cast, pattern, place } = state, kind = KINDS[pattern.kinds[place]], step = pattern.steps[place], parts = [];
    const add = (title, ...children) => parts.push([title, children]);
    const text = arithmetic(state), rule = cast.rule(step);
    if (text) add(kind === "contributed" ? spoken("incoming × local partial") : spoken("arithmetic"), make("p", { class: "ng-sum" }, text));
    if (kind === "contributed") add(spoken("arrived so far"), make("p", { class: "ng-sum ng-running" }, running(state)));
    if (rule && (kind === "evaluated" || kind === "contributed")) {
      const shown = kind === "evaluated" ? rule.value : rule.partials[pattern.positions[place]];
      const operands = cast.fed(step), [named, more] = some(operands, cast.letters.length - 1);
      const meant = (each) => (cast.varies(each) ? cast.called(each) : figure(constants(cast)[each]));
      const letters = named.map((each, at) => filled(spoken("{letter} is {who}"), { letter: cast.letters[at], who: meant(each) }));
      if (shown) add(filled(spoken("rule of {kind}"), { kind: cast.kind(step) }), make("p", {}, parsed(shown, "application/xml")),
        make("p", { class: "ng-letters" }, [...letters, filled(spoken("{letter} is {who}"), { letter: cast.letters.at(-1), who: cast.called(step) })].join(", ")
          + (more ? ` … ${more} more` : "")));
    }
    const tensor = cast.tensors.find(([from, to]) => cast.rows[step] >= from && cast.rows[step] <= to);
    if (tensor && kind !== "started") {
      const name = cast.names[step];
      add(name === undefined ? `part of ${tensor[2]}` : `element ${name}`, make("pre", {}, tensor[3]));
    }
    if (level === 2 && pattern.phase !== "update") {
      const left = [], done = finished(state);
      for (let each = 0; each < cast.rows.length && left.length <= MOST_CHIPS; each += 1) {
        const still = waiting(state, each, done);
        if (still > 0) left.push(`${cast.called(each)}: ${still}`);
      }
      const [shown, more] = some(left, MOST_CHIPS);
      add(pattern.phase === "backward" ? spoken("uses still to come") : spoken("operands still to come"),
        make("p", {}, (shown.join(", ") || spoken("none")) + (more ? " …" : "")));
    }
    return parts;
  }

  function table(state) {
    const { cast } = state, inOrder = (a, b) => cast.rows[a] - cast.rows[b];
    const steps = [...cast.rows.keys()].filter(cast.varies).sort(inOrder);
    return steps.slice(0, MOST_VALUES).map((step) => [cast.called(step), ...textsOf(state, step)]);
  }

  // --- going somewhere ---

  function level(index) {
    const [pattern, place] = event(index);
    return levelOf(KINDS[pattern.kinds[place]], !pattern.cast.varies(pattern.steps[place]));
  }

  /** Whether a number of an event is not finite: those of a reverse run come to light when it is run. */
  function bad(index) {
    const state = stateAt(index), { pattern, place } = state, kind = pattern.kinds[place];
    const [first, end] = [place, place + 1].map((each) => floatStarts[state.run] + pattern.floats[each]);
    const own = numbers.subarray(first, end);
    if (![...own].every(Number.isFinite)) return true;
    if (kind === FINISHED) return !Number.isFinite(state.grads[pattern.steps[place]]);
    return kind === CONTRIBUTED && ![state.shares[place], state.grads[pattern.takers[place]]].every(Number.isFinite);
  }

  /** What a wish such as "next change of x.grad" means: of each event, whether it is one; null if nobody knows. */
  function meaning(wish) {
    const asked = /^(the\s+)?((next|previous|first|last)\s+)?((change|step|use|turn)s?\s+)?(of\s+)?/i;
    const text = wish.trim().replace(asked, "").trim();
    if (/^(bad|nan|inf|not finite|a number that is not finite)$/i.test(text)) return (index) => bad(index);
    const kind = walk.kinds.find((each) => each === text.replace(/^operator\s+/i, "") && !LEAVES.includes(each));
    const [, name, , what] = text.match(/^(.*?)(\.(grad|value))?$/);
    const isCalled = (cast, step) => [name, text, wish.trim()].includes(cast.called(step));
    const isIt = casts.map((cast) => new Set([...cast.rows.keys()].filter((step) => isCalled(cast, step))));
    if (isIt.some((steps) => steps.size)) {
      return (index) => {
        const [pattern, place] = event(index), its = isIt[casts.indexOf(pattern.cast)], now = pattern.kinds[place];
        const takes = its.has(pattern.takers[place]), valued = now === READ || now === EVALUATED;
        if (what === "grad") return takes && (now === CONTRIBUTED || (valued && pattern.phase === "tangent"));
        if (what === "value") return takes && (valued || now === MOVED);
        return now !== STARTED && (takes || its.has(pattern.steps[place]));
      };
    }
    if (kind === undefined) return null;
    return (index) => {
      const [pattern, place] = event(index), now = pattern.kinds[place];
      return now !== STARTED && now !== ENQUEUED && pattern.cast.kind(pattern.takers[place]) === kind;
    };
  }

  /** When a node of the queue acts: forward it is computed, backward it is done. */
  function turn(row, index) {
    const [pattern, place, run] = event(index), step = pattern.cast.stepOf.get(row);
    const acts = [READ, EVALUATED, FINISHED, CONTRIBUTED];
    for (let at = place; at < pattern.count; at += 1) {
      if (pattern.steps[at] === step && acts.includes(pattern.kinds[at])) return starts[run] + at;
    }
    return index;
  }

  /** The first value of the result in each iteration, and where two weights were. */
  function course(rows) {
    const losses = [], path = [];
    runs.forEach((which, run) => {
      const { cast, phase, kinds, steps, floats, count: size } = patterns[which];
      if (phase !== "forward") return;
      const point = [NaN, NaN], found = { index: starts[run], loss: NaN, iteration: iterationOf[run] };
      for (let at = 0; at < size; at += 1) {
        if (kinds[at] !== READ && kinds[at] !== EVALUATED) continue;
        const value = numbers[floatStarts[run] + floats[at]], place = rows.indexOf(cast.rows[steps[at]]);
        if (place >= 0) point[place] = value;
        if (steps[at] === cast.targets[0]) found.loss = value;
      }
      losses.push(found);
      path.push(point);
    });
    return { losses, path };
  }

  const operators = walk.kinds.filter((kind) => !LEAVES.includes(kind)).sort().map((kind) => `operator ${kind}`);
  const names = casts.flatMap((cast) => Object.values(cast.names)).slice(0, MOST_WISHES);
  const named = names.flatMap((name) => [`${name}.grad`, name]);
  return {
    count, iterations, at, levels: LEVELS, level, meaning, turn, course,
    numbered: replay.numbered, unnumbered: replay.unnumbered,
    live: (code) => living(walk, replay, code),
    called: (row) => called(casts.find((cast) => cast.stepOf.has(row)), row),
    wishes: [...new Set(["not finite", ...named, ...operators])],
    near: (view) => neighbourhood(castAt(view), view.acting ?? view.focus),
    around: (view, row) => around(castAt(view), row),
    kindOf: (view, row) => castAt(view).kind(castAt(view).stepOf.get(row)),
  };

  function called(cast, row) {
    return cast.called(cast.stepOf.get(row));
  }

  function around(cast, row) {
    const step = cast.stepOf.get(row);
    return [...cast.fed(step), ...cast.users(step)].map((each) => cast.rows[each]);
  }

  function castAt(view) {
    return event(view.index)[0].cast;
  }

  /** A node with what feeds it and what it feeds: all that a close-up draws. */
  function neighbourhood(cast, row) {
    const step = cast.stepOf.get(row);
    const name = (each) => (cast.varies(each) ? cast.called(each) : figure(constants(cast)[each]));
    const own = (each) => (LEAVES.includes(cast.kind(each)) ? name(each)
      : `${cast.names[each] ? `${cast.names[each]}: ` : ""}${walk.signs[cast.kind(each)]}`);
    const box = (each) => ({ row: cast.rows[each], kind: cast.kind(each), name: name(each), title: own(each) });
    const edge = (source, target, position) => [cast.rows[source], cast.rows[target], position,
      `edge-${cast.rows[source]}-${cast.rows[target]}-${position}`];
    const edges = cast.fed(step).map((each, position) => edge(each, step, position));
    const users = [...new Set(cast.users(step))];
    for (const user of users) {
      cast.fed(user).forEach((each, position) => each === step && edges.push(edge(step, user, position)));
    }
    return { left: [...new Set(cast.fed(step))].map(box), middle: box(step), right: users.map(box), edges };
  }
}
