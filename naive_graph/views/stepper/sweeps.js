// The events of sweeps, told from their columns (see views/steps/columns.py): what is known after a step, and its words.

const LEVELS = ["values", "contributions", "queue"];
const LEVEL_OF = { started: 0, enqueued: 2, read: 0, evaluated: 0, contributed: 1, finished: 0, moved: 0 };
const LEAVES = ["Variable", "Constant", "PlaceHolder"];
const MOST_TERMS = 6;    // of a running sum
const MOST_CHIPS = 20;   // of the queue
const MOST_VALUES = 300; // in the table

/** The nodes of a plan, each known by its step in the plan. */
function readCast(walk, found) {
  const ints = (name) => walk.column(Int32Array, found[name]);
  const cast = { ...found, rows: ints("rows"), kindOf: ints("kinds"), starts: ints("starts"), operands: ints("operands"),
    origins: ints("origins"), stepOf: new Map() };
  cast.rows.forEach((row, step) => cast.stepOf.set(row, step));
  cast.kind = (step) => walk.kinds[cast.kindOf[step]];
  cast.fed = (step) => [...cast.operands.subarray(cast.starts[step], cast.starts[step + 1])];
  cast.called = (step) => cast.names[step] ?? `${cast.kind(step)}_${cast.rows[step]}`;
  cast.label = (step) => {
    const kind = LEAVES.includes(cast.kind(step)) ? cast.kind(step) : `'${cast.kind(step)}'`;
    return cast.names[step] === undefined ? `${kind} (row ${cast.rows[step]})`
      : `${kind} ${cast.quoted[step] ?? `'${cast.names[step]}'`}`;
  };
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

/** The events of a kind of run; `floats` says where the numbers of each begin. */
function readPattern(walk, casts, found) {
  const kinds = walk.column(Uint8Array, found.kinds), moves = walk.column(Int32Array, found.steps);
  const places = walk.column(Int32Array, found.positions), count = kinds.length, cast = casts[found.cast];
  const steps = new Int32Array(count), takers = new Int32Array(count), positions = new Int32Array(count);
  const floats = new Int32Array(count + 1), last = new Int32Array(walk.kind_names.length);
  const [, , READ, EVALUATED, CONTRIBUTED, , MOVED] = walk.kind_names.keys();
  let given = 0;
  for (let at = 0; at < count; at += 1) {
    const kind = kinds[at];
    steps[at] = takers[at] = last[kind] += moves[at];
    if (kind === CONTRIBUTED) {
      positions[at] = places[given++];
      takers[at] = cast.operands[cast.starts[steps[at]] + positions[at]];
    }
    const valued = kind === READ || kind === EVALUATED;
    floats[at + 1] = floats[at] + (kind === CONTRIBUTED ? 1 : kind === MOVED ? 2 : valued ? 1 + (found.phase === "tangent") : 0);
  }
  return { cast, phase: found.phase, kinds, steps, takers, positions, floats, count };
}

function sweeps(walk) {
  const KINDS = walk.kind_names, [STARTED, ENQUEUED, READ, EVALUATED, CONTRIBUTED, FINISHED, MOVED] = KINDS.keys();
  const casts = walk.casts.map((each) => readCast(walk, each));
  const patterns = walk.patterns.map((each) => readPattern(walk, casts, each));
  const runs = walk.column(Int32Array, walk.runs), iterationOf = walk.column(Int32Array, walk.iterations);
  const numbers = walk.column(Float64Array, walk.numbers);
  const starts = new Int32Array(runs.length + 1), floatStarts = new Int32Array(runs.length + 1), iterations = [];
  runs.forEach((which, run) => {
    starts[run + 1] = starts[run] + patterns[which].count;
    floatStarts[run + 1] = floatStarts[run] + patterns[which].floats[patterns[which].count];
    if (run === 0 || iterationOf[run] !== iterationOf[run - 1]) iterations.push(starts[run]);
  });
  const count = starts[runs.length], patternOf = (run) => patterns[runs[run]];

  function runAt(index) {
    let low = 0;
    for (let high = runs.length; high - low > 1;) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= index) low = middle;
      else high = middle;
    }
    return low;
  }

  // --- what is known after a step ---

  /** The state before the first event of a run; an update goes on from the run before it. */
  function begun(run, before) {
    const pattern = patternOf(run), { cast, phase } = pattern, size = cast.rows.length;
    const fresh = () => ({ values: new Float64Array(size), has: new Uint8Array(size), grads: new Float64Array(size), graded: new Uint8Array(size) });
    const kept = phase === "update" && before?.cast === cast ? before : fresh();
    const state = { run, cast, pattern, place: -1, values: kept.values, has: kept.has, grads: kept.grads, graded: kept.graded,
      queue: new Set(), shares: null, untaken: new Set(walk.untaken[run] ?? []), still: new Set(walk.still[run] ?? []) };
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

  // --- words ---

  function placeOf(cast, user, position) {
    const size = cast.starts[user + 1] - cast.starts[user];
    return size === 1 ? "" : size === 2 ? ["left", "right"][position] : ordinal(position);
  }

  const shortened = (texts) => (texts.length <= MOST_TERMS ? texts : [...texts.slice(0, 3), "...", ...texts.slice(-2)]);

  function computed(cast, step, operands, value) {
    const rule = cast.rule(step), texts = operands.map(figure);
    if (rule.infix && texts.length > 1) {
      const inside = texts.map((text, at) => (at && text.startsWith("-") ? `(${text})` : text));
      return `${shortened(inside).join(` ${rule.infix} `)} = ${figure(value)}`;
    }
    return `${cast.kind(step)}(${shortened(texts).join(", ")}) = ${figure(value)}`;
  }

  function slopeName(cast, step) {
    const top = cast.targets.length > 1 ? "sum" : cast.called(cast.targets[0]), bottom = cast.called(step);
    return [...top].length === 1 && [...bottom].length === 1 ? `d${top}/d${bottom}` : `d(${top})/d(${bottom})`;
  }

  function arithmetic(state) {
    const { cast, pattern, place: at } = state, step = pattern.steps[at], first = floatStarts[state.run] + pattern.floats[at];
    switch (pattern.kinds[at]) {
      case READ: case EVALUATED: {
        const text = pattern.kinds[at] === READ ? `${cast.called(step)} = ${figure(state.values[step])}`
          : computed(cast, step, cast.fed(step).map((each) => state.values[each]), state.values[step]);
        return state.graded[step] ? `${text}, slope ${figure(state.grads[step])}` : text;
      }
      case CONTRIBUTED: {
        const share = figure(state.shares[at]);
        return filled(walk.words[state.untaken.has(at) ? "branch" : "product"],
          { incoming: figure(incoming(state, step)), partial: figure(numbers[first]), share });
      }
      case FINISHED: return `${slopeName(cast, step)} = ${figure(state.grads[step])}`;
      case MOVED: return `${cast.called(step)}: ${figure(numbers[first])} -> ${figure(numbers[first + 1])}`;
      default: return "";
    }
  }

  /** Everything that has arrived at a node; the middle of many is left out. */
  function running(state) {
    const { cast, pattern, place, shares, untaken } = state, taker = pattern.takers[place], all = [];
    for (let at = 0; at <= place; at += 1) if (pattern.kinds[at] === CONTRIBUTED && pattern.takers[at] === taker) all.push(at);
    const many = all.length > MOST_TERMS, chosen = many ? [all[0], ...all.slice(2 - MOST_TERMS)] : all;
    const one = new Set(chosen.map((at) => pattern.steps[at])).size === 1;
    const texts = chosen.map((at) => {
      const side = placeOf(cast, pattern.steps[at], pattern.positions[at]);
      let from = one ? side : [side, cast.called(pattern.steps[at])].filter(Boolean).join(" of ");
      if (untaken.has(at)) from = from ? `${from}, not taken` : "not taken";
      return from ? `${figure(shares[at])} (${from})` : figure(shares[at]);
    });
    if (many) texts.splice(1, 0, `... ${all.length - chosen.length} more ...`);
    const sum = all.length > 1 ? ` = ${figure(state.grads[taker])}` : "";
    return `${slopeName(cast, taker)} = ${texts.join(" + ")}${sum}`;
  }

  function sentence(state) {
    const { cast, pattern, place: at } = state, kind = pattern.kinds[at], step = pattern.steps[at], words = walk.words;
    const who = cast.label(pattern.takers[at]), said = arithmetic(state), back = pattern.phase === "backward";
    if (kind === STARTED) {
      const number = iterationOf[state.run];
      return filled(words.started, { phase: pattern.phase[0].toUpperCase() + pattern.phase.slice(1), iteration: number ? `, iteration ${number}` : "" });
    }
    if (kind === ENQUEUED) {
      const free = back ? cast.isTarget.has(step) : cast.fed(step).length === 0;
      return filled(words[free ? "free" : back ? "enqueued back" : "enqueued"], { who });
    }
    if (kind === CONTRIBUTED) {
      const place = placeOf(cast, step, pattern.positions[at]), side = place ? filled(words.side, { place }) : "";
      return filled(words[state.untaken.has(at) ? "untaken" : "contributed"], { giver: cast.label(step), who, side, said });
    }
    return filled(words[KINDS[kind]], { who, said });
  }

  // --- a step, as the page shows it ---

  function at(index) {
    const state = stateAt(index), { cast, pattern, place } = state, kind = KINDS[pattern.kinds[place]];
    const step = pattern.steps[place], taker = pattern.takers[place], back = pattern.phase === "backward";
    const row = (each) => cast.rows[each], acts = kind !== "started";
    const operands = acts ? cast.fed(step) : [], users = acts ? cast.users(step) : [];
    const edge = (position) => `edge-${row(operands[position])}-${row(step)}-${position}`;
    const carried = kind === "evaluated" ? operands.map((each, position) => [edge(position), figure(state.values[each])])
      : kind === "contributed" ? [[edge(pattern.positions[place]), figure(state.shares[place])]] : [];
    const before = kind === "contributed" && state.before !== null ? figure(state.before) : null;
    return {
      index, kind, phase: pattern.phase, iteration: iterationOf[state.run], sentence: sentence(state),
      acting: acts ? row(step) : null, from: (back ? users : operands).map(row),
      to: (back ? operands.filter(cast.varies) : users).map(row), taker: kind === "contributed" ? row(taker) : null,
      edges: carried.map(([id]) => id), carried, back, before, drawings: drawingsOf(cast, row(step)),
      texts: (each) => textsOf(state, cast.stepOf.get(each)), queue: queueOf(state), panel: (level) => panel(state, level),
      table: () => table(state), slope: pattern.phase === "tangent" ? "slope" : "grad", name: cast.called(taker),
      place: () => origin(cast, step),
    };
  }

  function textsOf(state, step) {
    if (step === undefined || !state.cast.varies(step)) return ["", ""];
    return [state.has[step] ? figure(state.values[step]) : "", state.graded[step] ? figure(state.grads[step]) : ""];
  }

  /** The queue in the order in which its rows act: on the way back that is the order of forward, reversed. */
  function queueOf(state) {
    const rows = [...state.queue];
    if (state.pattern.phase === "backward") rows.sort((a, b) => b - a);
    return rows.map((step) => state.cast.rows[step]);
  }

  function drawingsOf(cast, row) {
    const opened = Object.keys(cast.scopes).filter((key) => (cast.scopes[key].has ?? indexed(cast.scopes, key)).has(row));
    return [...opened, ...cast.drawings.slice(0, 1)];
  }

  function indexed(scopes, key) {
    const rows = new Set(scopes[key]);
    scopes[key].has = rows;
    return rows;
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
    for (let at = 0; at <= state.place; at += 1) if (state.pattern.kinds[at] === FINISHED) done[state.pattern.steps[at]] = 1;
    return done;
  }

  function panel(state, level) {
    const { cast, pattern, place } = state, kind = KINDS[pattern.kinds[place]], step = pattern.steps[place], parts = [];
    const add = (title, ...children) => parts.push([title, children]);
    const text = arithmetic(state), rule = cast.rule(step);
    if (text) add(kind === "contributed" ? "incoming × local partial" : "arithmetic", make("p", { class: "ng-sum" }, text));
    if (kind === "contributed") add("arrived so far", make("p", { class: "ng-sum ng-running" }, running(state)));
    if (rule && (kind === "evaluated" || kind === "contributed")) {
      const shown = kind === "evaluated" ? rule.value : rule.partials[pattern.positions[place]];
      const operands = cast.fed(step), [named, more] = some(operands, cast.letters.length - 1);
      const letters = named.map((each, at) => `${cast.letters[at]} is ${cast.varies(each) ? cast.called(each) : figure(constants(cast)[each])}`);
      if (shown) add(`rule of ${cast.kind(step)}`, make("p", {}, parsed(shown, "application/xml")),
        make("p", { class: "ng-letters" }, [...letters, `${cast.letters.at(-1)} is ${cast.called(step)}`].join(", ")
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
      add(pattern.phase === "backward" ? "uses still to come" : "operands still to come",
        make("p", {}, (shown.join(", ") || "none") + (more ? " …" : "")));
    }
    return parts;
  }

  function table(state) {
    const { cast } = state, steps = [...cast.rows.keys()].filter(cast.varies).sort((a, b) => cast.rows[a] - cast.rows[b]);
    return steps.slice(0, MOST_VALUES).map((step) => [cast.called(step), ...textsOf(state, step)]);
  }

  // --- going somewhere ---

  const event = (index) => {
    const run = runAt(index), pattern = patternOf(run);
    return [pattern, index - starts[run], run];
  };

  function level(index) {
    const [pattern, place] = event(index);
    return LEVEL_OF[KINDS[pattern.kinds[place]]];
  }

  /** Whether a number of an event is not finite: those of a reverse run come to light when it is run. */
  function bad(index) {
    const state = stateAt(index), { pattern, place } = state, kind = pattern.kinds[place];
    const first = floatStarts[state.run] + pattern.floats[place], own = numbers.subarray(first, first + pattern.floats[place + 1] - pattern.floats[place]);
    if (![...own].every(Number.isFinite)) return true;
    if (kind === FINISHED) return !Number.isFinite(state.grads[pattern.steps[place]]);
    return kind === CONTRIBUTED && ![state.shares[place], state.grads[pattern.takers[place]]].every(Number.isFinite);
  }

  /** What a wish such as "next change of x.grad" means: of each event, whether it is one; nothing if it is not understood. */
  function meaning(wish) {
    const text = wish.trim().replace(/^(the\s+)?((next|previous|first|last)\s+)?((change|step|use|turn)s?\s+)?(of\s+)?/i, "").trim();
    if (/^(bad|nan|inf|not finite|a number that is not finite)$/i.test(text)) return (index) => bad(index);
    const kind = walk.kinds.find((each) => each === text.replace(/^operator\s+/i, "") && !LEAVES.includes(each));
    const [, name, , what] = text.match(/^(.*?)(\.(grad|value))?$/);
    const isIt = casts.map((cast) => new Set([...cast.rows.keys()].filter((step) => cast.called(step) === name || cast.called(step) === text || `#${cast.rows[step]}` === name)));
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
    for (let at = place; at < pattern.count; at += 1) {
      if (pattern.steps[at] === step && [READ, EVALUATED, FINISHED, CONTRIBUTED].includes(pattern.kinds[at])) return starts[run] + at;
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
  const named = casts.flatMap((cast) => Object.values(cast.names)).slice(0, 100).flatMap((name) => [`${name}.grad`, name]);
  return {
    count, iterations, at, levels: LEVELS, seen: (index, most) => level(index) <= most, meaning, turn, course,
    called: (row) => (casts.find((cast) => cast.stepOf.has(row)) ?? casts[0]).called(casts.find((cast) => cast.stepOf.has(row)).stepOf.get(row)),
    wishes: [...new Set(["a number that is not finite", ...named, ...operators])],
    near: (view) => neighbourhood(castAt(view), view.acting),
    around: (view, row) => [...castAt(view).fed(castAt(view).stepOf.get(row)), ...castAt(view).users(castAt(view).stepOf.get(row))].map((each) => castAt(view).rows[each]),
    kindOf: (view, row) => castAt(view).kind(castAt(view).stepOf.get(row)),
  };

  function castAt(view) {
    return event(view.index)[0].cast;
  }

  /** What the Constants are: a Constant is its value, also before its turn. */
  function constants(cast) {
    if (!cast.fixed) {
      const state = begun([...runs.keys()].find((run) => patternOf(run).cast === cast), null);
      while (state.pattern.phase !== "backward" && state.place < state.pattern.count - 1) advance(state);
      cast.fixed = state.values;
    }
    return cast.fixed;
  }

  /** A node with what feeds it and what it feeds: all that a close-up draws. */
  function neighbourhood(cast, row) {
    const step = cast.stepOf.get(row), box = (each) => ({ row: cast.rows[each], kind: cast.kind(each),
      name: cast.names[each] ?? (cast.varies(each) ? undefined : figure(constants(cast)[each])) });
    const edge = (source, target, position) => [cast.rows[source], cast.rows[target], position, `edge-${cast.rows[source]}-${cast.rows[target]}-${position}`];
    const edges = cast.fed(step).map((each, position) => edge(each, step, position));
    const users = [...new Set(cast.users(step))];
    for (const user of users) cast.fed(user).forEach((each, position) => each === step && edges.push(edge(step, user, position)));
    return { left: [...new Set(cast.fed(step))].map(box), middle: box(step), right: users.map(box), edges };
  }
}
