"""Programs as learners write them, right and wrong: what each of them is, or where its mistakes are."""

import warnings

import pytest

from naive_graph.errors import SequentialError
from naive_graph.sequential.compile import parse

# ruff: noqa: E501
RIGHT = [  # what stands in the brackets, the layers, the shape of the results, and how many weights
    ("4", "Dense(3)", (3,), 15),
    ("4, 0.1", "Dense(3, 0)", (3,), 12),
    ("4, 1, 5", "Dense(3, use_bias=0)", (3,), 12),
    ("4, 1e-2, 5", "Dense(units=3)", (3,), 15),
    ("4, .5, 5, 'variance'", "Dense(units=3, use_bias=1)", (3,), 15),
    ('4, 1., 7, "crossEntropy"', 'Dense(3); Activation("softmax")', (3,), 15),
    ('4, 0.1, 9, "crossEntropy", 0.5', "Dense(3); Activation('sigmoid')", (3,), 15),
    ('4, 0.1, 9, "variance", -0.5', "Dense(3); Activation('relu'); Dense(1)", (1,), 19),
    ('4, 0.1, 9, "variance", "gaussRandom"', "Dense(2); Dense(2)", (2,), 16),
    ('4, 0.1, 9, "variance", "uniformRandom"', "Dense(2); Dense(2)", (2,), 16),
    ('4, 0.1, 9, "variance", "glorotUniform"', "Dense(2); Dense(2)", (2,), 16),
    ('4, 0.1, 9, "variance", ("gaussRandom",)', "Dense(2); Dense(2)", (2,), 16),
    ('4, 0.1, 9, "variance", ("gaussRandom", 0.5)', "Dense(2); Dense(2)", (2,), 16),
    ('4, 0.1, 9, "variance", (\'gaussRandom\', 0, 0.1)', "Dense(2); Dense(2)", (2,), 16),
    ('4, 0.1, 9, "variance", ("uniformRandom", -0.1, 0.1,)', "Dense(2); Dense(2)", (2,), 16),
    ("4, initializer=1", "Dense(2); Dense(2)", (2,), 16),
    ('4, loss="variance", learning_rate=0.3', "Dense(2)", (2,), 10),
    ("input_shape=4, batch_size=30", "Dense(2)", (2,), 10),
    ("2*2", "Dense(1 + 2)", (3,), 15),
    ("28*28, 1e-2", "Dense(10)", (10,), 7850),
    ("8/2, 1/10, 3*3", "Dense(4/2)", (2,), 10),
    ("(4)", "Dense(((3)))", (3,), 15),
    ("2 + 3*4 - 10", "Dense(-(-3))", (3,), 15),
    ("(1, 1, 4)", "Dense(3)", (3,), 15),
    ("(5,5,1)", "Conv2D(3, 2)", (4, 4, 3), 15),
    ("(5,5,1)", "Conv2D(3, (2,2))", (4, 4, 3), 15),
    ("(5,5,1)", "Conv2D(3, (2, 3), 1, 0)", (4, 3, 3), 18),
    ("(5,5,2)", "Conv2D(3, 2, 2)", (2, 2, 3), 27),
    ("(5,5,2)", "Conv2D(3, 2, (1, 2), padding=1)", (6, 3, 3), 27),
    ("(5,5,2)", "Conv2D(filters=3, kernel_size=(1,1), strides=(3,3))", (2, 2, 3), 9),
    ("(5,5,2)", "Conv2D(3, 5, 1, 1, (0, 1))", (1, 3, 3), 153),
    ("(5,5,2)", "MaxPooling2D(2)", (2, 2, 2), 0),
    ("(5,5,2)", "AveragePooling2D((1, 5))", (5, 1, 2), 0),
    ("(6,6,1)", "Conv2D(4, 3); MaxPooling2D(2); Dense(3); Activation('softmax')", (3,), 91),
    ("(6,6,3), 0.1, 40, initializer='glorotUniform'", "Conv2D(2, 3); Conv2D(2, 3); Dense(1)", (1,), 103),
    ("(6,6,1)", "AveragePooling2D(pool_size=(3, 2)); Dense(2, 0)", (2,), 12),
    ("4", "Dropout(0.5); Dense(2)", (2,), 10),
    ("4", "Dense(2); Dropout(1); Dense(2, 0)", (2,), 14),
    ("4", "Dense(2); Dropout(rate=1/4)", (2,), 10),
    ("4", "Activation('relu')", (4,), 0),
    ("(2,2,3)", "Activation('softmax')", (2, 2, 3), 0),
    ("4", "Dense(3); /* no ; is missing */ Dense(2) /* here */", (2,), 23),
    ("4 // the brackets go on\n , 0.1", "Dense(3)", (3,), 15),
    ("100000", "Dense(1, 0)", (1,), 100000),
    ("1", "; ".join(["Dense(1, 0)"] * 30), (1,), 30),
    ("4,0.1,9,'variance','glorotUniform'", "Dense (3) ;Activation ( 'relu' ) ; Dense(\n2\n)", (2,), 23),
]  # fmt: skip


@pytest.mark.parametrize("given, layers, shape, size", RIGHT)
def test_a_right_program_is_read_and_printed_as_itself(given, layers, shape, size):
    added = "".join(f"add {each.strip()};" for each in layers.replace("/* no ; is", "/* no sign is").split(";"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights that all begin at 0
        program = parse(f"stream<double x> r, d, l; r = sequential (d, l) ({given}) {{{added}}};")
        again = parse(program.text())
    assert (program["r"].output_shape, program["r"].size) == (shape, size)
    assert again.text() == program.text() and again["r"].summary() == program["r"].summary()


# Each with the places of its mistakes, as line:column, and their codes.
LAYERS = [
    ('add Activation(“relu”);', '3:18 SyntaxError'),
    ('add Activation("relu”);', '3:18 SyntaxError'),
    ('add Activation(«relu»);', '3:18 SyntaxError'),
    ('add Dense(3, use_bias=False);', '3:25 SyntaxError'),
    ('add Dense(3, use_bias="1");', '3:16 ARG_TYPE'),
    ('add Dense(3)', '3:15 SyntaxError'),
    ('/* never ends', '3:3 SyntaxError'),
    ('add Flatten();', '3:7 UNKNOWN_LAYER'),
    ('add Dense("3");', '3:13 ARG_TYPE'),
    ('add Dense(3.0);', '3:13 ARG_TYPE'),
    ('r.add(Dense(3));', '3:3 SyntaxError'),
    ('add dense(3);', '3:7 UNKNOWN_LAYER'),
    ('add Dense[3];', '3:12 SyntaxError'),
    ('add Dense(3;', '3:14 SyntaxError'),
    ('add Dense(3));', '3:15 SyntaxError'),
    ('add Dense(3,);', '3:15 SyntaxError'),
    ('add Dense();', '3:7 ARG_COUNT'),
    ('add Dense(units);', '3:13 UNDECLARED_NAME'),
    ('add Dense(units=3, activation="relu");', '3:22 ARG_COUNT'),
    ('add Dense(3, activation=relu);', '3:27 UNDECLARED_NAME'),
    ('add Activation(Relu);', '3:18 UNDECLARED_NAME'),
    ('add Activation("ReLU");', '3:18 BAD_VALUE'),
    ('add Activation("tanh");', '3:18 BAD_VALUE'),
    ('add Activation(softmax)', '3:26 SyntaxError'),
    ('add Dropout(50);', '3:15 ARG_RANGE'),
    ('add Dropout(50%);', '3:17 SyntaxError'),
    ('add Dropout(0);', '3:15 ARG_RANGE'),
    ('add BatchNormalization();', '3:7 UNKNOWN_LAYER'),
    ('add LSTM(3);', '3:7 UNKNOWN_LAYER'),
    ('add Conv2d(3,3);', '3:7 UNKNOWN_LAYER'),
    ('add MaxPool2D(2);', '3:7 UNKNOWN_LAYER'),
    ('add Dense(3);;', '3:16 SyntaxError'),
    ('-- comment', '3:3 SyntaxError'),
    ('Add Dense(3);', '3:3 SyntaxError'),
    ('add Ｄense(3);', '3:7 SyntaxError'),
    ('add Dense（3）；', '3:12 SyntaxError'),
    ('add Dense(-3);', '3:13 ARG_RANGE'),
    ('add Dense(0);', '3:13 ARG_RANGE'),
    ('add Dense(1e9);', '3:13 ARG_TYPE'),
    ('add Dense(10**3);', '3:16 SyntaxError'),
    ('add Dense(3/2);', '3:13 ARG_TYPE'),
    ('add Dense(3, name="a");', '3:16 ARG_COUNT'),
    ('add Dense(3, 3, 3);', '3:19 ARG_COUNT'),
    ('add Dense(units=3, units=4);', '3:22 DUPLICATE_ARG'),
    ('add Conv2D(3,(2,2));', '3:7 SHAPE'),
    ('add Conv2D(3,2,padding="same");', '3:18 ARG_TYPE'),
    ('add Activation();', '3:7 ARG_COUNT'),
    ('add Activation("relu", "relu");', '3:26 ARG_COUNT'),
    ('add Activation(\'relu");', '3:18 SyntaxError'),
    ("add Activation('relu);", '3:18 SyntaxError'),
    ('add Dense(3); }', '3:18 SyntaxError'),
    ('add Dense(x1);', '3:13 UNDECLARED_NAME'),
    ('add Dense(None);', '3:13 UNDECLARED_NAME'),
    ('add Dense(3 4);', '3:15 SyntaxError'),
    ('add\tDense(3, use_bias=2);', '3:16 ARG_RANGE'),
    ('add Activation(“relu);', '3:18 SyntaxError'),
    ('add Dense(0x10);', '3:14 SyntaxError'),
    ('add Dense(1_000);', '3:14 SyntaxError'),
    ('add Dense(3.5.2);', '3:16 SyntaxError'),
    ('add Dense(3)。', '3:15 SyntaxError'),
    ('add Dense(=3);', '3:13 SyntaxError'),
    ('add Dense(units==3);', '3:19 SyntaxError'),
    ('add Dense(3) // c', '3:15 SyntaxError'),
    ('add Dense(true);', '3:13 UNDECLARED_NAME'),
    ('add Dense(3, use_bias=no);', '3:25 UNDECLARED_NAME'),
    ('add stream(3);', '3:7 RESERVED_NAME'),
    ('add 3;', '3:7 SyntaxError'),
    ('add Dense("a"+1);', '3:13 ARG_TYPE'),
    ('add Dense((3,));', '3:13 ARG_TYPE'),
]  # fmt: skip

NETWORKS = [
    ('r = sequential (d,l) (4, 0.1, 9, variance, 0.5) { add Dense(3); };', '2:34 UNDECLARED_NAME'),
    ('r = sequential (d,l) (4, 0.1, 9, loss=crossEntropy, initializer=glorotUniform) { add Dense(3); add Activation(softmax); };', '2:39 UNDECLARED_NAME 2:65 UNDECLARED_NAME 2:111 UNDECLARED_NAME'),
    ('r = sequential (d,l) (4, 0.1, 9, "variance", gaussRandom(0, 1)) { add Dense(3); };', '2:57 SyntaxError'),
    ('r = sequential (d,l) (4, 0.1, 9, "mse", 0.5) { add Dense(3); };', '2:34 BAD_VALUE'),
    ('r = sequential (d,l) (4, 0.1, 9, "variance", "xavier") { add Dense(3); };', '2:46 BAD_VALUE'),
    ('r = sequential (d,l) (4, 2, 9) { add Dense(3); };', '2:26 ARG_RANGE'),
    ('r = sequential (d,l) (4, 0, 9) { add Dense(3); };', '2:26 ARG_RANGE'),
    ('r = sequential (d,l) (4, 0.1, 2) { add Dense(3); };', '2:31 BATCH_TOO_SMALL'),
    ('r = sequential (d,l) (4, 0.1, 9.5) { add Dense(3); };', '2:31 ARG_TYPE'),
    ('r = sequential (d,l) ((4,4), 0.1, 9) { add Dense(3); };', '2:23 ARG_TYPE'),
    ('r = sequential (d,l) { add Dense(3); };', '2:22 SyntaxError'),
    ('r = sequential (d,l,x) (4) { add Dense(3); };', '2:20 SyntaxError'),
    ('r = sequential d,l (4) { add Dense(3); };', '2:16 SyntaxError'),
    ('r := sequential (d,l) (4) { add Dense(3); };', '2:3 SyntaxError'),
    ('sequential (d,l) (4) { add Dense(3); };', '2:1 SyntaxError'),
    ('r = sequential (d,l) (4) ;', '2:26 SyntaxError'),
    ('r = sequential (d,l) (4) { add Dense(3); ', '2:41 SyntaxError'),
    ('r = sequential (d,l) (4) [ add Dense(3); ];', '2:26 SyntaxError'),
    ('r = sequential (d,l) (4, 0.1, 9, "variance", 0.5, 3) { add Dense(3); };', '2:51 ARG_COUNT'),
    ('r = sequential (d,l) (4, rate=0.1) { add Dense(3); };', '2:26 ARG_COUNT'),
    ('r = sequential (d,l) (4, learnig_rate=0.1) { add Dense(3); };', '2:26 ARG_COUNT'),
    ('r = sequential (d,l) (input_shape=4, input_shape=5) { add Dense(3); };', '2:38 DUPLICATE_ARG'),
    ('r = sequential (d,l) (4, input_shape=5) { add Dense(3); };', '2:26 DUPLICATE_ARG'),
    ('q = sequential (d,l) (4) { add Dense(3); };', '2:1 UNDECLARED_STREAM'),
    ('r = sequential (d,lable) (4) { add Dense(3); };', '2:19 UNDECLARED_STREAM'),
    ('r = sequential (r,l) (4) { add Dense(3); };', '2:1 DUPLICATE_NAME'),
    ('r = sequential (d,d) (4) { add Dense(3); };', '2:19 DUPLICATE_NAME'),
    ('r = sequential (d,r) (4) { add Dense(3); };', '2:1 DUPLICATE_NAME'),
    ('r = sequential (d,l) (4) { add Dense(3); }; r = sequential (d,l) (4) { add Dense(3); };', '2:45 DUPLICATE_NAME'),
    ('r = sequential (d,l) (0) { add Dense(3); };', '2:23 ARG_RANGE'),
    ('r = sequential (d,l) (-4) { add Dense(3); };', '2:23 ARG_RANGE'),
    ('r = sequential (d,l) ("4") { add Dense(3); };', '2:23 ARG_TYPE'),
    ('r = sequential (d,l) ((28,28)) { add Conv2D(3,3); };', '2:23 ARG_TYPE'),
    ('r = sequential (d,l) (28,28,1) { add Conv2D(3,3); };', '2:26 ARG_RANGE'),
    ('r = sequential (d,l) (4,0,1) { add Dense(3); };', '2:25 ARG_RANGE'),
    ('r = sequential (d,l) (4,0,1,9) { add Dense(3); };', '2:25 ARG_RANGE'),
    ('r = sequential (d,l) (4, 1/0) { add Dense(3); };', '2:28 BAD_VALUE'),
    ('r = sequential (d,l) (4, 1e999) { add Dense(3); };', '2:26 ARG_RANGE'),
    ('r = sequential (d,l) (4, 0.1, 9, "variance", 0.5) { add Conv2D(3,3); };', '2:57 SHAPE'),
    ('r = sequential (d,l) ((4,4,1), 0.1, 19, "variance", 0.5) { add Conv2D(3,5); };', '2:64 SHAPE'),
    ('r = sequential (d,l) ((4,4,1), 0.1, 19, "variance", 0.5) { add MaxPooling2D(5); };', '2:64 SHAPE'),
    ('r = sequential (d,l) ((4,4,1), 0.1, 19, "variance", 0.5) { add Dense(3); add MaxPooling2D(2); };', '2:78 SHAPE'),
    ('r = sequential (d,l) ((4,4,1), 0.1, 19, "variance", 0.5) { add Conv2D(3,2,0); };', '2:75 ARG_RANGE'),
    ('r = sequential (d,l) ((4,4,1), 0.1, 19, "variance", 0.5) { add Conv2D(3,2,strides=(1,2,3)); };', '2:75 ARG_TYPE'),
    ('r = sequential (d,l) ((4,4,1), 0.1, 19, "variance", 0.5) { add Conv2D(3,2,padding=-1); };', '2:75 ARG_RANGE'),
    ('r = sequential (d,l) ((4,4,1), 0.1, 19, "variance", 0.5) { add AveragePooling2D((2,2),2); };', '2:87 ARG_COUNT'),
]  # fmt: skip

TEXTS = [
    ('stream<double> r;', '1:14 SyntaxError'),
    ('stream<float x> r,d,l;', '1:8 BAD_TYPE'),
    ('stream<int x, double y> r;', '1:15 BAD_TYPE'),
    ('stream<double x> r,d,l', '1:23 SyntaxError'),
    ('stream<double x> r,,l;', '1:20 SyntaxError'),
    ('stream<double x> r,r;', '1:20 DUPLICATE_NAME'),
    ('stream<double x>;', '1:17 SyntaxError'),
    ('stream<double x> add;', '1:18 RESERVED_NAME'),
    ('stream(double x) r;', '1:7 SyntaxError'),
    ('stream<double x> sequential;', '1:18 RESERVED_NAME'),
    ('stream<double x> é;', '1:18 SyntaxError'),
    ('strem<double x> r;', '1:1 SyntaxError'),
    ('composite Main() { stream<double x> r,d,l; r = sequential (d,l) (4) { add Dense(3); };', '1:87 SyntaxError'),
    ('composite Main() { composite X() { } }', '1:20 SyntaxError'),
    ('network.txt', '1:8 SyntaxError'),
    ('r = sequential (d,l) (4) { add Dense(3); };', '1:1 UNDECLARED_STREAM 1:17 UNDECLARED_STREAM 1:19 UNDECLARED_STREAM'),
    ('streamdouble x> r;', '1:1 SyntaxError'),
    ('composite(){}', '1:10 SyntaxError'),
    ('stream<double x> r,d,l; r = sequential(d,l)(4){addDense(3);};', '1:48 SyntaxError'),
]  # fmt: skip


PROGRAMS = [
    *((f'stream<double x> r, d, l;\nr = sequential (d, l) (4, 0.1, 9, "variance", "glorotUniform") {{\n  {each}\n}};', says) for each, says in LAYERS),
    *((f"stream<double x> r, d, l;\n{each}", says) for each, says in NETWORKS),
    *TEXTS,
]  # fmt: skip


@pytest.mark.parametrize("text, says", PROGRAMS)
def test_a_wrong_program_has_its_mistakes_told_each_once_where_it_is(text, says):
    with pytest.raises(SequentialError) as caught:
        parse(text)
    found = [caught.value, *caught.value.more]
    assert " ".join(f"{each.line}:{each.column} {each.code}" for each in found) == says
