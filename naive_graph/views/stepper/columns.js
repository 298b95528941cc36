// The columns of sweeps (see views/steps/columns.py), and what is known after each of their events.

const LEAVES = ["Variable", "Constant", "PlaceHolder"];
const NOUNS = { add: "sum", sub: "difference", mul: "product", div: "quotient", pow: "power" };
const LEVELS = ["values", "contributions", "queue"];  // of detail: how much is told
const LEVEL_OF = { started: 0, enqueued: 2, read: 0, evaluated: 0, contributed: 1, finished: 0, moved: 0 };

/** The least level that tells an event; that a Constant has its value is no news. */
const levelOf = (kind, isFixed) => (kind === "read" && isFixed ? 2 : LEVEL_OF[kind]);

/** The nodes of a plan, each known by its step in the plan. */
function readCast(walk, found) {
  const ints = (name) => walk.column(Int32Array, found[name]);
  const cast = { ...found, rows: ints("rows"), kindOf: ints("kinds"), starts: ints("starts"), operands: ints("operands"),
    origins: ints("origins"), stepOf: new Map() }, alike = new Map(), line = (step) => walk.origins[cast.origins[step]][1];
  cast.rows.forEach((row, step) => cast.stepOf.set(row, step));
  cast.kind = (step) => walk.kinds[cast.kindOf[step]];
  cast.fed = (step) => [...cast.operands.subarray(cast.starts[step], cast.starts[step + 1])];
  cast.called = (step) => cast.titles[step] ?? cast.names[step] ?? byLine(step);
  /** As drawing/names.py calls it, where the graph is too large for formulas. */
  function byLine(step) {
    if (!(step < cast.rows.length)) return "";  // of an empty graph
    if (!alike.size) for (const each of [...cast.rows.keys()].sort((a, b) => cast.rows[a] - cast.rows[b])) {
      const key = `${cast.kind(each)} ${line(each)}`;
      if (!alike.has(key)) alike.set(key, []);
      alike.get(key).push(each);
    }
    const kind = cast.kind(step), all = alike.get(`${kind} ${line(step)}`);
    return `the ${all.length > 1 ? `${ordinal(all.indexOf(step))} ` : ""}${NOUNS[kind] ?? kind} in line ${line(step)}`;
  }
  cast.rule = (step) => cast.rules[`${cast.kind(step)}/${cast.starts[step + 1] - cast.starts[step]}`];
  const ends = new Int32Array(cast.rows.length + 1);  // who uses each step, one entry for each operand position
  for (const operand of cast.operands) ends[operand + 1] += 1;
  for (let step = 1; step < ends.length; step += 1) ends[step] += ends[step - 1];
  const next = ends.slice(), users = new Int32Array(cast.operands.length);
  for (let step = 0; step < cast.rows.length; step += 1) {
    for (let at = cast.starts[step]; at < cast.starts[step + 1]; at += 1) users[next[cast.operands[at]]++] = step;
  }
  cast.users = (step) => [...users.subarray(ends[step], ends[step + 1])];
  cast.varies = (step) => cast.kind(step) !== "Constant";
  cast.isTarget = new Set(cast.targets);
  return cast;
}

/** The events of a kind of run: where the numbers of each begin (`floats`), how many a level tells by then (`told`). */
function readPattern(walk, casts, found) {
  const kinds = walk.column(Uint8Array, found.kinds), moves = walk.column(Int32Array, found.steps);
  const places = walk.column(Int32Array, found.positions), count = kinds.length, cast = casts[found.cast];
  const steps = new Int32Array(count), takers = new Int32Array(count), positions = new Int32Array(count);
  const floats = new Int32Array(count + 1), last = new Int32Array(walk.kind_names.length);
  const [, , READ, EVALUATED, CONTRIBUTED, , MOVED] = walk.kind_names.keys();
  const told = LEVELS.map(() => new Int32Array(count + 1));
  let given = 0;
  for (let at = 0; at < count; at += 1) {
    const kind = kinds[at];
    steps[at] = takers[at] = last[kind] += moves[at];
    const least = levelOf(walk.kind_names[kind], !cast.varies(steps[at]));
    for (let level = 0; level < LEVELS.length; level += 1) told[level][at + 1] = told[level][at] + (least <= level);
    if (kind === CONTRIBUTED) {
      positions[at] = places[given++];
      takers[at] = cast.operands[cast.starts[steps[at]] + positions[at]];
    }
    const valued = kind === READ || kind === EVALUATED;
    floats[at + 1] = floats[at] + (kind === CONTRIBUTED ? 1 : kind === MOVED ? 2 : valued ? 1 + (found.phase === "tangent") : 0);
  }
  return { cast, phase: found.phase, kinds, steps, takers, positions, floats, told, count };
}

/** The runs of a walk, event by event. `stateAt(index)` is what is known after a step; it moves on with the walk. */
function replaying(walk) {
  const KINDS = walk.kind_names, [STARTED, ENQUEUED, READ, EVALUATED, CONTRIBUTED, FINISHED, MOVED] = KINDS.keys();
  const casts = walk.casts.map((each) => readCast(walk, each));
  const patterns = walk.patterns.map((each) => readPattern(walk, casts, each));
  const runs = walk.column(Int32Array, walk.runs), iterationOf = walk.column(Int32Array, walk.iterations);
  const numbers = walk.column(Float64Array, walk.numbers);
  const starts = new Int32Array(runs.length + 1), floatStarts = new Int32Array(runs.length + 1), iterations = [];
  const toldStarts = LEVELS.map(() => new Int32Array(runs.length + 1));
  runs.forEach((which, run) => {
    starts[run + 1] = starts[run] + patterns[which].count;
    floatStarts[run + 1] = floatStarts[run] + patterns[which].floats[patterns[which].count];
    toldStarts.forEach((sums, level) => { sums[run + 1] = sums[run] + patterns[which].told[level].at(-1); });
    if (run === 0 || iterationOf[run] !== iterationOf[run - 1]) iterations.push(starts[run]);
  });
  const count = starts[runs.length], patternOf = (run) => patterns[runs[run]];

  const runAt = (index) => placeAmong(starts, index, runs.length);

  /** The number of an event among those that a level tells; one that it does not tell has that of the last before. */
  function numbered(index, level) {
    const run = runAt(index);
    return toldStarts[level][run] + patternOf(run).told[level][index - starts[run] + 1] - 1;
  }

  /** The event that has a number at a level. */
  function unnumbered(number, level) {
    const run = placeAmong(toldStarts[level], number, runs.length), { told, count: size } = patternOf(run);
    return starts[run] + placeAmong(told[level], number - toldStarts[level][run], size);
  }

  // --- what is known after a step ---

  /** The state before the first event of a run; an update goes on from the run before it. */
  function begun(run, before) {
    const pattern = patternOf(run), { cast, phase } = pattern, size = cast.rows.length;
    const fresh = () => ({ values: new Float64Array(size), has: new Uint8Array(size), grads: new Float64Array(size), graded: new Uint8Array(size) });
    const kept = phase === "update" && before?.cast === cast ? before : fresh();
    const state = { run, cast, pattern, place: -1, values: kept.values, has: kept.has, grads: kept.grads, graded: kept.graded,
      queue: new Set(), shares: null, given: new Set(), untaken: new Set(walk.untaken[run] ?? []), still: new Set(walk.still[run] ?? []) };
    if (phase === "forward") {  // a leaf has its value before it is read
      pattern.reads ??= [...pattern.kinds.keys()].filter((at) => pattern.kinds[at] === READ);
      for (const at of pattern.reads) {
        state.values[pattern.steps[at]] = numbers[floatStarts[run] + pattern.floats[at]];
        state.given.add(pattern.steps[at]);
      }
    }
    if (phase === "backward") {
      state.shares = new Float64Array(pattern.count);
      fill(state, run);
    }
    return state;
  }

  /** The values that a reverse run starts from: sent with it, or left by the forward run before it. */
  function fill(state, run) {
    if (walk.values[run]) {
      state.values.set(walk.column(Float64Array, walk.values[run]));
      return void state.has.fill(1);
    }
    let last = run - 1;
    while (["update", "backward"].includes(patternOf(last).phase)) last -= 1;
    const { kinds, steps, floats, count: size } = patternOf(last);
    for (let at = 0; at < size; at += 1) {
      if (kinds[at] !== READ && kinds[at] !== EVALUATED) continue;
      state.values[steps[at]] = numbers[floatStarts[last] + floats[at]];
      state.has[steps[at]] = 1;
    }
  }

  const incoming = (state, step) => (state.graded[step] ? state.grads[step] : Number(state.cast.isTarget.has(step)));

  /** Take the next event of the run. */
  function advance(state) {
    const at = state.place += 1, { kinds, steps, takers, floats } = state.pattern, kind = kinds[at], step = steps[at];
    const first = floatStarts[state.run] + floats[at];
    if (kind === ENQUEUED) state.queue.add(step);
    else if (kind === READ || kind === EVALUATED) {
      state.values[step] = numbers[first];
      state.has[step] = 1;
      state.queue.delete(step);
      if (state.pattern.phase === "tangent" && !state.still.has(step)) {
        state.grads[step] = numbers[first + 1];
        state.graded[step] = 1;
      }
    } else if (kind === CONTRIBUTED) {
      const taker = takers[at], share = state.untaken.has(at) ? 0 : incoming(state, step) * numbers[first];
      state.before = state.graded[taker] ? state.grads[taker] : null;
      state.shares[at] = share;
      state.grads[taker] = state.graded[taker] ? state.grads[taker] + share : state.cast.isTarget.has(taker) ? 1 + share : share;
      state.graded[taker] = 1;
    } else if (kind === FINISHED) {
      state.grads[step] = incoming(state, step);
      state.graded[step] = 1;
      state.queue.delete(step);
    } else if (kind === MOVED) {
      state.values[step] = numbers[first + 1];
      state.has[step] = 1;
    }
  }

  let known = null;

  /** The state after a step: a walk onward goes on, any other begins at its run. */
  function stateAt(index) {
    const run = runAt(index), place = index - starts[run];
    if (known?.run !== run || known.place > place) {
      let from = run;
      while (from > 0 && patternOf(from).phase === "update") from -= 1;
      for (known = null; from <= run; from += 1) {
        known = begun(from, known);
        const end = from === run ? place : patternOf(from).count - 1;
        while (known.place < end) advance(known);
      }
    }
    while (known.place < place) advance(known);
    return known;
  }

  const event = (index) => {
    const run = runAt(index), pattern = patternOf(run);
    return [pattern, index - starts[run], run];
  };

  /** What the Constants are: a Constant is its value, also before its turn. */
  function constants(cast) {
    if (!cast.fixed) {
      const state = begun([...runs.keys()].find((run) => patternOf(run).cast === cast), null);
      while (state.pattern.phase !== "backward" && state.place < state.pattern.count - 1) advance(state);
      cast.fixed = state.values;
    }
    return cast.fixed;
  }

  /** The numbers were written anew. */
  const renewed = () => { known = null; };

  return { KINDS, renewed, casts, patterns, runs, numbers, starts, floatStarts, iterations, iterationOf, count, event, stateAt,
    incoming, constants, numbered, unnumbered };
}
