// Numbers that follow: the leaves get other values, and the walk is computed anew by the code of the rules
// (`recompute_script` in views/steps/columns.py). The events stay as they are; only their numbers are written again.

/** The only plan of a walk, computed from other values of its leaves. */
function living(walk, replay, { rules, trainers }) {
  const { casts: [cast], patterns, runs, numbers, floatStarts, KINDS } = replay, size = cast.rows.length;
  const [, , READ, EVALUATED, CONTRIBUTED] = KINDS.keys(), steps = [...cast.rows.keys()];
  const fed = steps.map(cast.fed), { targets } = cast;
  const rule = steps.map((step) => rules[`${cast.kind(step)}/${fed[step].length}`]);
  const values = replay.constants(cast).slice(), slopes = new Float64Array(size);
  const leaves = steps.filter((step) => cast.varies(step) && !fed[step].length).sort((a, b) => cast.rows[a] - cast.rows[b]);
  const tangent = runs.findIndex((which) => patterns[which].phase === "tangent");
  const back = runs.findIndex((which) => patterns[which].phase === "backward");
  const still = new Set(walk.still[tangent] ?? []);
  if (tangent >= 0) slopes.set(replay.stateAt(replay.starts[tangent + 1] - 1).grads);

  const { evaluate, partials: partialsOf, result } = computing(fed, rule, targets, cast.varies);

  /** All numbers of the walk, as its sweeps would find them now. */
  function renew() {
    evaluate(values);
    const partials = partialsOf(values);
    if (tangent >= 0) for (const step of steps) if (rule[step] && !still.has(step)) {
      slopes[step] = fed[step].reduce((sum, each, at) => (still.has(each) ? sum : sum + partials[step][at] * slopes[each]), 0);
    }
    runs.forEach((which, run) => write(patterns[which], run, partials));
    replay.renewed();
  }

  function write({ kinds, steps: whose, takers, positions, floats, count, phase }, run, partials) {
    const reached = new Set(targets), untaken = [];
    for (let at = 0; at < count; at += 1) {
      const kind = kinds[at], step = whose[at], first = floatStarts[run] + floats[at];
      if (kind === READ || kind === EVALUATED) {
        numbers[first] = values[step];
        if (phase === "tangent") numbers[first + 1] = slopes[step];
      } else if (kind === CONTRIBUTED) {
        numbers[first] = partials[step][positions[at]];
        const isTaken = reached.has(step) && !(rule[step].selects && numbers[first] === 0);
        isTaken ? reached.add(takers[at]) : untaken.push(at);
      }
    }
    if (phase === "backward" && rule.some((each) => each?.selects)) walk.untaken[run] = untaken;
    if (walk.values[run]) walk.column(Float64Array, walk.values[run]).set(values);
  }

  return {
    leaves, values, trainers, size, called: cast.called, rowOf: (step) => cast.rows[step], learned: leaves.filter((step) => cast.kind(step) === "Variable"),
    isTrained: back >= 0,
    set(changes) {
      for (const [step, value] of changes) values[step] = value;
      renew();
    },
    result: (changes) => {
      const known = values.slice();
      for (const [step, value] of changes) known[step] = value;
      return evaluate(known);
    },
    now: () => result(values),
    slopes: () => replay.stateAt(replay.starts[back + 1] - 1).grads,
  };
}
