// The numbers of a graph from those of its leaves, by the code of the rules (see live_graph.py): forwards, backwards.

/** fed: the steps that feed each step, all before it; rule: each one's rule; targets: the steps whose sum is the result. */
function computing(fed, rule, targets, varies) {
  const rooms = fed.map((each) => new Array(each.length).fill(0)), result = (known) => targets.reduce((sum, each) => sum + known[each], 0);
  function operands(step, known) {
    const its = fed[step], room = rooms[step];
    for (let at = 0; at < its.length; at += 1) room[at] = known[its[at]];
    return room;
  }
  function evaluate(known) {
    for (let step = 0; step < fed.length; step += 1) if (rule[step]) [known[step]] = rule[step].value(operands(step, known));
    return result(known);
  }
  const partials = (known) => rule.map((each, step) => (each ? each.partials(operands(step, known), known[step]) : []));
  /** What the reverse sweep finds: a branch that was not taken passes nothing on. */
  function adjoints(slopes) {
    const sums = new Array(fed.length).fill(null), reached = new Set(targets);
    for (const step of targets) sums[step] = 1;
    for (let step = fed.length - 1; step >= 0; step -= 1) if (rule[step] && sums[step] !== null) {
      const its = fed[step], { selects } = rule[step];
      for (let at = 0; at < its.length; at += 1) {
        const each = its[at], slope = slopes[step][at], isTaken = reached.has(step) && !(selects && slope === 0);
        if (slope === null || !varies(each)) continue;
        const share = isTaken ? sums[step] * slope : 0;
        if (isTaken) reached.add(each);
        sums[each] = sums[each] === null ? share : sums[each] + share;
      }
    }
    return sums.map((each) => each ?? 0);
  }
  return { evaluate, partials, adjoints, result };
}
