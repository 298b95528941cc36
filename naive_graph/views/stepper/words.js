// A step of a sweep in words: the arithmetic, the running sum and a sentence, as views/steps/describe.py writes them.

const MOST_TERMS = 6;    // of a running sum

function wording(walk, { KINDS, numbers, floatStarts, iterationOf, incoming }) {
  const [STARTED, ENQUEUED, READ, EVALUATED, CONTRIBUTED, FINISHED, MOVED] = KINDS.keys();

  function placeOf(cast, user, position) {
    const size = cast.starts[user + 1] - cast.starts[user];
    return size === 1 ? "" : size === 2 ? [spoken("left"), spoken("right")][position] : ordinal(position);
  }

  const shortened = (texts) => (texts.length <= MOST_TERMS ? texts : [...texts.slice(0, 3), "...", ...texts.slice(-2)]);

  function computed(cast, step, operands, value) {
    const rule = cast.rule(step), texts = operands.map(figure);
    if (rule.infix && texts.length > 1) {
      const inside = texts.map((text, at) => ((at || rule.infix === "**") && text.startsWith("−") ? `(${text})` : text));
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
        const name = cast.called(step), value = figure(state.values[step]);
        const text = pattern.kinds[at] === READ ? (name === value ? value : `${name} = ${value}`)
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
      if (untaken.has(at)) from = from ? `${from}, ${spoken("not taken")}` : spoken("not taken");
      return from ? `${figure(shares[at])} (${from})` : figure(shares[at]);
    });
    if (many) texts.splice(1, 0, `... ${all.length - chosen.length} more ...`);
    const sum = all.length > 1 ? ` = ${figure(state.grads[taker])}` : "";
    return `${slopeName(cast, taker)} = ${texts.join(" + ")}${sum}`;
  }

  const sentence = (state) => sentenceOf(state).replace(/^the /, "The ");

  function sentenceOf(state) {
    const { cast, pattern, place: at } = state, kind = pattern.kinds[at], step = pattern.steps[at], words = walk.words;
    const who = cast.called(pattern.takers[at]), said = arithmetic(state), back = pattern.phase === "backward";
    if (kind === STARTED) {
      const number = iterationOf[state.run];
      const phases = { forward: spoken("Forward"), backward: spoken("Backward"), tangent: spoken("Tangent"), update: spoken("Update") };
      return filled(words.started, { phase: phases[pattern.phase],
        iteration: number ? filled(spoken(", iteration {number}"), { number }) : "" });
    }
    if (kind === ENQUEUED) {
      const free = back ? cast.isTarget.has(step) : cast.fed(step).length === 0;
      return filled(words[free ? "free" : back ? "enqueued back" : "enqueued"], { who });
    }
    if (kind === CONTRIBUTED) {
      const place = placeOf(cast, step, pattern.positions[at]), side = place ? filled(words.side, { place }) : "";
      return filled(words[state.untaken.has(at) ? "untaken" : "contributed"], { giver: cast.called(step), who, side, said });
    }
    return filled(words[KINDS[kind]], { who, said });
  }

  return { arithmetic, running, sentence };
}
