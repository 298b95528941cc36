"""A text is read as it is written, or refused with its place and the repair."""

from functools import reduce
from unicodedata import combining, east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_networks import V1, V2, V3

from naive_graph.errors import SequentialError, SequentialWarning
from naive_graph.sequential.compile import parse
from naive_graph.sequential.parser import ParsedText

HEAD = "stream<double x> r,d,l;\n"


def tree_of(text):
    reading = ParsedText(text)
    reading.raise_errors()
    return reading.tree


@pytest.mark.parametrize("text", [V1, V2, V3], ids=["V1", "V2", "V3"])
def test_what_is_printed_is_the_same_tree(text):
    program = parse(text)
    assert parse(program.text()).tree == program.tree
    assert parse(program.text()).text() == program.text()


def test_the_second_example_has_the_shapes_and_parameters_of_the_specification():
    network = parse(V2)["out"]
    assert [each.output_shape for each in network.layers] == [(4, 4, 3), (2, 2, 3), (5,), (5,)]
    assert network.size == 80


@pytest.mark.parametrize("name", ["data", "label"])
def test_a_result_may_have_the_name_that_python_gives_to_another_stream(name):
    network = parse(f"stream<double x> {name},d,l;\n{name} = sequential (d,l) (4) {{ add Dense(1); }};")[name]
    assert network.streams == (name, "d", "l") and network.batch_size == 5


def test_a_deep_expression_can_be_shown():
    assert "1 + 1" in repr(parse(f"int n = {'1+' * 3000}1;").tree)


def test_arguments_are_calculated_and_named():
    network = parse(V3)["g"]
    assert network.input_shape == (784,) and network.batch_size == 16 and network.learning_rate == 0.01
    assert network.initializer == ("gaussRandom", 0.0, 1.0)
    assert network.layers[3].layer.use_bias == 0


@pytest.mark.parametrize(
    "text, message, column",
    [
        ("r = sequential (d,l) (4,0.1,7) { add Dense(3) };", "SyntaxError: expected `;`, got `}`", 46),
        ("r = sequential (d,l) (4,0.1,7) { };", "SyntaxError: expected `add`", 34),
        ("r = sequential (d) (4,0.1,7) { add Dense(3); };", "SyntaxError: expected `,`", 18),
        ("r = sequential (d,l) (4,0.1,7) { add Dence(3); };", "UNKNOWN_LAYER Dence (did you mean Dense)", 38),
        ("r = sequential (d,lbl) (4,0.1,7) { add Dense(3); };", "UNDECLARED_STREAM lbl", 19),
        ("r = sequential (d,l) (4,.1,6) { add Dense(3); add Dense(2); };",
         "BATCH_TOO_SMALL: 6 must exceed 6 stages", 28),
        ("r = sequential (d,l) (784,0.1,9) { add Conv2D(3,2); };", "SHAPE: Conv2D needs (H,W,C)", 40),
        ('r = sequential (d,l) (4,0.1,9) { add Dense(3); add Activation("tanh"); };', "BAD_VALUE activation", 63),
    ],
    ids=[f"I{number}" for number in range(1, 9)],
)  # fmt: skip
def test_the_errors_of_the_specification(text, message, column):
    with pytest.raises(SequentialError) as caught:
        parse(HEAD + text)
    first, source, caret = str(caught.value).split("\n")
    assert message in first
    assert (caught.value.line, caught.value.column) == (2, column)
    assert source.strip() == text and caret.index("^") == source.index(text) + column - 1


BODY = "r = sequential (d,l) (4,.5,9) {{ add {}; }};"


@pytest.mark.parametrize(
    "text, code",
    [
        (BODY.format("Dense(0)"), "ARG_RANGE units"),
        (BODY.format("Dense('3')"), "ARG_TYPE units"),
        (BODY.format("Dense(3, 2)"), "ARG_RANGE use_bias"),
        (BODY.format("Dense()"), "ARG_COUNT Dense"),
        (BODY.format("Dense(1, 1, 1)"), "ARG_COUNT Dense"),
        (BODY.format("Dense(unit=1)"), "ARG_COUNT Dense: it has no argument unit (did you mean units?)"),
        (BODY.format("Dense(1, units=3)"), "DUPLICATE_ARG units"),
        (BODY.format("Dense(units=1, units=3)"), "DUPLICATE_ARG units"),
        (BODY.format("Dense(units=3, 1)"), "SyntaxError: `1` has no name"),
        (BODY.format("Dropout(0)"), "ARG_RANGE rate"),
        (BODY.format("Dropout(1.5)"), "ARG_RANGE rate"),
        (BODY.format("Dense(1/0)"), "BAD_VALUE: `1` is divided by 0"),
        (BODY.format("Dense('a' + 1)"), "ARG_TYPE: `'a'` stands in a calculation"),
        (BODY.format("Dense((1, (2, 3)))"), "ARG_TYPE: a tuple stands in a tuple"),
        (BODY.format("Dense(1e999)"), "ARG_RANGE: the number is too large"),
        (BODY.format("Dense(" + "9" * 5000 + ")"), "ARG_RANGE: the number is too large"),
        (BODY.format("Dense(100000000); add Dense(1000)"), "SHAPE"),
        (BODY.format("Dropout('x)"), "SyntaxError: a text that begins with '"),
        ("r = sequential (d,l) (4，.5,9) { add Dense(1); };", "SyntaxError: expected `,`, got `，` (fullwidth comma)"),
        ("r = sequential (d,l) (4,1.5,9) { add Dense(1); };", "ARG_RANGE learning_rate"),
        ("r = sequential (d,l) (4,.5,9,'mse') { add Dense(1); };", "BAD_VALUE loss"),
        ("r = sequential (d,l) (4,initializer='zeros') { add Dense(1); };", "BAD_VALUE initializer"),
        ("r = sequential (d,l) ((4,4)) { add Dense(1); };", "ARG_TYPE input_shape"),
        ("r = sequential (d,l) ((4,4,1)) { add MaxPooling2D(5); };", "SHAPE"),
        ("r = sequential (d,r) (4) { add Dense(1); };", "DUPLICATE_NAME r"),
        ("r = sequential (d,d) (4) { add Dense(1); };", "DUPLICATE_NAME d"),
        ("stream<double x> _Loss; _Loss = sequential (d,l) (4) { add Dense(1); };", "DUPLICATE_NAME _Loss"),
        ("stream<double x> r;", "DUPLICATE_NAME r"),
        ("stream<double x> add;", "RESERVED_NAME add"),
        ("stream<int x> q;", "BAD_TYPE"),
        ("stream<double x, double y> q;", "BAD_TYPE"),
        ("net.seq", "SyntaxError: `.` (full stop) is no sign of the language. Take it out. A program is its text"),
        ("@", "SyntaxError: `@` (commercial at) is no sign"),
        ("r = sequential (d,l) (4,.5,9) { add Dense(3); }", "SyntaxError: expected `;`, got the end of the text"),
    ],
)  # fmt: skip
def test_every_mistake_has_its_code_and_its_place(text, code):
    with pytest.raises(SequentialError) as caught:
        parse(HEAD + text)
    assert f": {code}" in str(caught.value)
    assert caught.value.line == 2 and 1 <= caught.value.column <= len(text) + 1


@pytest.mark.parametrize(
    "text",
    [
        HEAD + " " * 10_000_000,
        HEAD + "r = sequential (d,l) (" + "(" * 10_000 + "4" + ")" * 9_999 + ") { add Dense(3); };",
        HEAD + "r = sequential (d,l) (" + "4+" * 10_000 + ") { add Dense(3); };",
        HEAD + "r = sequential (d,l) (" + "-" * 10_000 + ") { add Dense(3); };",
        HEAD + "r = sequential (d,l) (" + "9*" * 10_000 + "9) { add Dense(3); };",
    ],
    ids=["10 MB", "brackets", "a sum", "signs", "a product"],
)
def test_what_is_endless_is_refused_soon(text):
    with pytest.raises(SequentialError) as caught:
        parse(text)
    assert len(str(caught.value)) < 1_000


def test_thousands_of_brackets_are_no_harm():
    text = HEAD + "r = sequential (d,l) (" + "(" * 3_000 + "4" + ")" * 3_000 + ",.5,9) { add Dense(2); };"
    assert parse(text)["r"].input_shape == (4,)
    deep = HEAD + "r = sequential (d,l) (" + "(1-" * 3_000 + "4" + ")" * 3_000 + ",.5,9) { add Dense(2); };"
    assert tree_of(str(tree_of(deep))) == tree_of(deep)
    assert "<Expression 1 - (1 - (1 - " in repr(tree_of(deep))


def test_zero_weights_in_two_layers_are_warned_of():
    with pytest.warns(SequentialWarning, match="for ever"):
        parse(HEAD + "r = sequential (d,l) (4) { add Dense(3); add Dense(2); };")


def test_a_composite_may_stand_around_it():
    program = parse("composite Main() { " + V1 + " }")
    assert list(program) == ["res"] and parse(program.text()).tree == program.tree


def test_the_file_may_have_windows_lines_and_comments():
    program = parse(V1.replace("\n", "\r\n") + "/* the end */ // of it")
    assert len(program) == 1


numbers = st.integers(0, 999).map(str) | st.floats(0, 1e6, allow_nan=False).map(repr)


def grown(inner):
    signs = st.sampled_from(["+", "-", "*"])
    return (
        st.tuples(inner, signs, inner).map(" ".join)
        | inner.map(lambda part: f"({part})")
        | inner.map(lambda part: f"- {part}")
    )


@given(st.recursive(numbers, grown, max_leaves=12))
def test_a_calculation_has_pythons_value_and_prints_as_itself(text):
    tree = tree_of(f"{HEAD}r = sequential (d,l) ({text}) {{ add Dense(3); }};")
    (_, statement) = tree.statements
    value = statement.arguments[0].value
    assert value.value == eval(text)
    assert tree_of(str(tree)) == tree
    assert eval(str(value)) == value.value


def test_a_constant_stands_for_its_number_wherever_a_number_may_stand():
    text = """stream<double x> r, d, l;
int units = 3, twice = 2*units; double rate = 1/8;
composite Main() {
  int size = twice + 4;
  r = sequential (d, l) (size, rate, 7 + units, initializer=("gaussRandom", 0, rate)) {
    add Dense(units*(twice - 1)); add Dense(units=units);
  };
}
"""
    program = parse(text)
    network = program["r"]
    assert (network.input_shape, network.learning_rate, network.batch_size) == ((10,), 0.125, 10)
    assert network.initializer == ("gaussRandom", 0.0, 0.125)
    assert [each.output_shape for each in network.layers] == [(15,), (3,)]
    assert parse(program.text()).tree == program.tree and parse(program.text())["r"].size == network.size


@pytest.mark.parametrize("before, layers, says, at", [
    ("int n = 3;", "add Dense(m);", "UNDECLARED_NAME m", "m)"),
    ("int units = 3;", "add Dense(unts);", "UNDECLARED_NAME unts (did you mean units)", "unts"),
    ("", "add Dense(n);", "UNDECLARED_NAME n: no number has this name. Declare one before: int n = 3;", "n)"),
    ("", "add Dense(2*n);", "UNDECLARED_NAME n: no number has this name", "n)"),
    ("int n = 3; int n = 4;", "add Dense(n);", "DUPLICATE_NAME n: it is declared in line 2 already", "n = 4"),
    ("int r = 3;", "add Dense(r);", "DUPLICATE_NAME r: it is declared in line 1 already", "r = 3"),
    ("int n = n + 1;", "add Dense(n);", "UNDECLARED_NAME n: it is to be made of itself", "n +"),
    ("int n = m; int m = n;", "add Dense(n);", "it is declared in line 2, which is later", "m; int"),
    ("int n = 7/2;", "add Dense(n);", "BAD_VALUE: `7/2` is 3.5, and an int is whole. Write double.", "7/2"),
    ("int n = 'a';", "add Dense(n);", "ARG_TYPE: a constant is a number, not `'a'`", "'a'"),
    ("int n = 1/0;", "add Dense(n);", "BAD_VALUE: `1` is divided by 0", "0;"),
    ("int n;", "add Dense(n);", "SyntaxError n: a constant has a value: n = 3", "n;"),
    ("int add = 3;", "add Dense(3);", "RESERVED_NAME add: it is a word of the language", "add ="),
    ("double n = 3;", "add Dense(n);", "ARG_TYPE units", "n)"),
])  # fmt: skip
def test_a_constant_that_is_none_is_told_once_with_its_place(before, layers, says, at):
    lines = [HEAD.strip(), before, f"r = sequential (d, l) (4, 0.1, 9) {{ {layers} }};"]
    with pytest.raises(SequentialError) as caught:
        parse("\n".join(lines))
    assert says in str(caught.value) and not caught.value.more
    line = next(each for each in lines[1:] if at in each)
    assert (caught.value.line, caught.value.column) == (lines.index(line) + 1, line.index(at) + 1)


@pytest.mark.parametrize("layers, says, at", [
    ("add Activation(relu);", 'a word stands in quotes: "relu".', "relu"),
    ("add Dense(3, use_bias=True);", "SyntaxError True: 1 is meant: flags are 0 or 1.", "True"),
    ("add Dense(3, False);", "SyntaxError False: 0 is meant", "False"),
    ("add Activation(“relu”);", """a text stands in plain quotes, " or ', not in “: "relu".""", "“"),
    ("add Activation(‘relu’);", '"relu"', "‘"),
    ("add Activation(\"tanh\");", 'one of "relu", "sigmoid", "softmax"', '"tanh"'),
    ("add Dense(3); /* the rest", "a comment begins here and does not end", "/*"),
    ("add Dense(3)  add Dense(2);", "expected `;`, got `add`", "  add Dense(2)"),
    ("add Flatten();", "Dense lays what it is given in a row by itself", "Flatten"),
    ("model.add(Dense(3));", "In Python: Sequential([", "model"),
])  # fmt: skip
def test_what_is_often_written_is_told_how_it_is_meant(layers, says, at):
    head = "r = sequential (d, l) (4, 0.1, 9) {"
    with pytest.raises(SequentialError) as caught:
        parse(f"stream<double x> r, d, l;\n{head}{layers} }};")
    assert says in str(caught.value)
    assert (caught.value.line, caught.value.column) == (2, len(head) + 1 + layers.index(at))


def test_loss_without_quotes_is_told():
    with pytest.raises(SequentialError, match='a word stands in quotes: "variance"'):
        parse("stream<double x> r, d, l; r = sequential (d, l) (4, 0.1, 9, variance) { add Dense(3); };")


@pytest.mark.parametrize("before", ["// 数据\n", "/* 数据 */", "/* ｄ */", "/* é */", "/* e\u0301\u0301 */"])
def test_a_caret_stands_under_its_sign_behind_wide_and_joined_characters(before):
    with pytest.raises(SequentialError) as caught:
        parse(HEAD + before + "r = sequential (d,l) (4) { add Dence(3); };")
    _, source, caret = str(caught.value).split("\n")

    def cells(text):
        return sum(0 if combining(each) else 1 + (east_asian_width(each) in "WF") for each in text)

    assert caret.endswith("^") and cells(caret[:-1]) == cells(source[: source.index("Dence")])


LESSON = """stream<double x> out, numbers, label;
out = sequential (numbers, labels) (3, 2.0, 9, variance, "glorotUniform") {
  add Dence(4);
  add Activation("tanh");
  add Dense(1, 2);
  add Dense(2, use_bias=True);
};
"""


def test_all_mistakes_but_of_syntax_are_told_at_once_in_their_order():
    with pytest.raises(SequentialError) as caught:
        parse(LESSON)
    found = [caught.value, *caught.value.more]
    assert [(each.line, each.column, each.code) for each in found] == [
        (2, 28, "UNDECLARED_STREAM"), (2, 48, "UNDECLARED_NAME"), (3, 7, "UNKNOWN_LAYER"), (4, 18, "BAD_VALUE"),
        (5, 16, "ARG_RANGE"), (6, 25, "SyntaxError"),
    ]  # fmt: skip
    assert str(caught.value).count("^") == 6
    repairs = {
        "labels": "label", "2.0, 9": "0.1, 19", "variance": '"variance"', "Dence": "Dense", '"tanh"': '"relu"',
        "1, 2": "1, 1", "True": "1",
    }  # fmt: skip
    mended = reduce(lambda text, repair: text.replace(*repair), repairs.items(), LESSON)
    assert len(parse(mended)["out"].layers) == 4


def test_ten_mistakes_are_enough():
    with pytest.raises(SequentialError) as caught:
        parse(HEAD + "r = sequential (d,l) (4) {" + "add Dence(3);" * 30 + "};")
    assert len(caught.value.more) == 9


WORDS = [
    "add",
    "Dense",
    "(",
    ")",
    "3",
    ";",
    "}",
    "{",
    ",",
    "relu",
    "“x”",
    "；",
    "=",
    "r",
    "stream",
    "*",
    "/*",
    '"',
    "\n",
]


@given(st.lists(st.sampled_from(WORDS), max_size=6), st.integers(0, 90))
def test_whatever_is_put_into_a_text_each_mistake_has_a_place_in_it(words, at):
    text = V1[:at] + " ".join(words) + V1[at:]
    lines = text.split("\n")
    try:
        parse(text)
    except SequentialError as error:
        found = [error, *error.more]
        assert len(found) <= 10 and found == sorted(found, key=lambda each: (each.line, each.column))
        assert all(1 <= each.column <= len(lines[each.line - 1]) + 1 for each in found)
    except SequentialWarning:
        pass  # another network than was meant, and it says so
