// The rows of the plan: their numbers, computed by the code of the graph's own rules, and what they are called.

const WORDS_OF = { add: "a sum", sub: "a difference", mul: "a product", div: "a quotient", pow: "a power" };

/** model: as packed.py wrote it. rules: of each kind of row, or null: then the numbers are those that Python found. */
function planning(model, rules) {
  const ints = (place) => model.column(Int32Array, place), floats = (place) => model.column(Float64Array, place);
  const kinds = ints(model.kinds), starts = ints(model.starts), operands = ints(model.operands), rows = ints(model.rows);
  const size = rows.length, values = new Float64Array(size), slopes = new Float64Array(size);
  const kind = (step) => model.kinds_named[kinds[step]], fed = (step) => operands.subarray(starts[step], starts[step + 1]);
  const isLeaf = (step) => ["Variable", "PlaceHolder", "Constant"].includes(kind(step));
  const tensors = model.tensors.map((each) => ({ ...each, steps: ints(each.steps), own: ints(each.own) }));

  // --- who uses a row, which entry of which tensor it is, and which tensor it was written for ---

  const ends = new Int32Array(size + 1), users = new Int32Array(operands.length);
  for (const each of operands) ends[each + 1] += 1;
  for (let step = 1; step <= size; step += 1) ends[step] += ends[step - 1];
  const next = ends.slice();
  for (let step = 0; step < size; step += 1) for (let at = starts[step]; at < starts[step + 1]; at += 1) users[next[operands[at]]++] = step;
  const usersOf = (step) => users.subarray(ends[step], ends[step + 1]);
  const entry = [new Int32Array(size).fill(-1), new Int32Array(size)], owner = new Int32Array(size).fill(-1);
  tensors.forEach(({ steps, own }, number) => {
    steps.forEach((step, place) => { if (step >= 0 && entry[0][step] < 0) [entry[0][step], entry[1][step]] = [number, place]; });
    for (const step of own) owner[step] = number;
  });

  function indices(shape, place) {
    const found = [];
    for (let axis = shape.length - 1, rest = place; axis >= 0; axis -= 1) { found.unshift(rest % shape[axis]); rest = Math.floor(rest / shape[axis]); }
    return found;
  }
  const entryName = ({ name, shape }, place) => (shape.length ? `${name}[${indices(shape, place)}]` : name);
  /** The tensor and the place of a row; of a step on the way, those of the entry that it is for. */
  function home(step) {
    for (let at = step, many = 0; many < 400; many += 1) {
      if (entry[0][at] >= 0) return [entry[0][at], entry[1][at]];
      const [user] = usersOf(at);
      if (user === undefined) break;
      at = user;
    }
    return [Math.max(0, owner[step]), 0];
  }
  function called(step) {
    if (entry[0][step] >= 0) return entryName(tensors[entry[0][step]], entry[1][step]);
    if (kind(step) === "Constant") return figure(values[step]);
    const [number, place] = home(step);
    return `${WORDS_OF[kind(step)] ?? kind(step)} of ${entryName(tensors[number], place)}`;
  }

  // --- numbers ---

  const ruleOf = Array.from({ length: size }, (_, step) => (isLeaf(step) ? null : rules?.[`${kind(step)}/${starts[step + 1] - starts[step]}`]));
  const lists = Array.from({ length: size }, (_, step) => [...fed(step)]);
  const { evaluate, partials, adjoints } = computing(lists, ruleOf, model.targets, (step) => kind(step) !== "Constant");
  const leaves = [...Array(size).keys()].filter(isLeaf);
  floats(model.leaves).forEach((value, at) => { values[leaves[at]] = value; });
  const begun = values.slice();
  let local = [];
  function renew() {
    if (!rules) return void (values.set(floats(model.values)), slopes.set(floats(model.slopes)));
    evaluate(values);
    local = partials(values);
    slopes.set(adjoints(local));
  }
  /** What a row's users hand back to it: their gradient and the partial, of each operand position that hands anything. */
  function shares(step) {
    return [...new Set(usersOf(step))].filter((user) => slopes[user] !== 0 && local[user]).flatMap((user) => lists[user]
      .flatMap((each, at) => (each === step && !(ruleOf[user].selects && local[user][at] === 0) ? [[slopes[user], local[user][at]]] : [])));
  }

  /** The numbers of a sample and its label are put into their leaves. */
  const samples = floats(model.samples), labels = model.labels && floats(model.labels);
  function take(sample) {
    for (const [number, column] of [[model.sample, samples], [model.label, labels]]) if (number !== null && column) {
      const { steps } = tensors[number], from = sample * steps.length;
      steps.forEach((step, place) => { if (step >= 0) values[step] = begun[step] = column[from + place]; });
    }
  }
  const isFree = (step) => rules && ["Variable", "PlaceHolder"].includes(kind(step));
  return { model, tensors, size, rows, kind, fed, usersOf, values, slopes, begun, renew, take, called, home, entryName, indices, shares, isLeaf, isFree,
    ints, isEntry: (step) => entry[0][step] >= 0 };
}
