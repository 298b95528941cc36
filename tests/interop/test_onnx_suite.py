"""ONNX's own node suite: what passes, what is left out and why, and whether what passes has right derivatives."""

import pytest

pytest.importorskip("onnx")
import onnx
import onnx_suite as suite
from onnx import defs

from naive_graph.errors import NumericError
from naive_graph.interop.onnx.import_graph import IMPORT_RULES, mapping_of, why_unsupported
from naive_graph.interop.onnx.steps import OnnxStep

# In forward mode a slope that is infinite meets a 0, which is NaN.
WITHOUT_SLOPE = {"test_acosh_example": "its slope at 1 is infinite"}


def test_at_least_1200_cases_give_the_expected_numbers():
    assert sum(not why for why in suite.outcomes().values()) >= 1200


def test_the_table_says_what_is_left_out_and_why():
    said = suite.TABLE.read_text(encoding="utf-8")
    if f"ONNX {onnx.__version__}:" not in said:
        pytest.skip("the table is of another version of ONNX")
    assert suite.table() == said


def check_gradient(case):
    report = suite.gradient_of(case)
    assert report is None or (not report.failures and report.count + report.masked), (case.name, str(report))


def passed():
    return [each for each in suite.cases() if not suite.outcomes()[each.name] and each.name not in WITHOUT_SLOPE]


def test_one_case_of_each_operator_has_the_right_gradient():
    chosen = {}
    for case in passed():
        chosen.setdefault(tuple(sorted({node.op_type for node in case.model.graph.node})), case)
    for operators, case in chosen.items():
        if len(operators) == 1:
            check_gradient(case)


def test_the_cases_without_a_slope_have_none():
    for case in suite.cases():
        if case.name in WITHOUT_SLOPE:
            with pytest.raises(NumericError):
                suite.gradient_of(case)


# --- the law over onnx.defs ---------------------------------------------------

# Attributes of operators that no row stands for, and of those that are prepared: all are looked at.
LOOKED_AT = {
    "Cast": {"to", "saturate", "round_mode"}, "CastLike": {"saturate", "round_mode"}, "Size": set(),
    "Shape": {"start", "end"}, "If": {"then_branch", "else_branch"}, "IsInf": {"detect_positive", "detect_negative"},
    "Compress": {"axis"}, "Upsample": {"mode", "scales"}, "Resize": {
        "mode", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "exclude_outside", "antialias",
        "extrapolation_value", "axes", "keep_aspect_ratio_policy"},
    "Loop": {"body"}, "Scan": {
        "body", "num_scan_inputs", "scan_input_axes", "scan_input_directions", "scan_output_axes",
        "scan_output_directions", "directions"},  # the last of opset 8, which is refused
    "GridSample": {"mode", "padding_mode", "align_corners"}, "DFT": {"axis", "inverse", "onesided"},
    "STFT": {"onesided"}, "QLinearMatMul": set(), "Mod": {"fmod"},
    "QuantizeLinear": {"axis", "block_size", "output_dtype", "saturate", "precision"},
    "DequantizeLinear": {"axis", "block_size", "output_dtype"},
    "Constant": {"value", "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings",
                 "sparse_value"},
}  # fmt: skip


def test_in_every_opset_each_attribute_of_what_is_prepared_is_read_or_refused_by_name():
    missing = []
    for op in IMPORT_RULES:
        for opset in range(7, defs.onnx_opset_version() + 1):
            try:
                schema = defs.get_schema(op, opset, "")
            except defs.SchemaError:
                continue
            match = mapping_of(op, opset)
            known = match[1].attributes(opset) if match else LOOKED_AT.get(op, set())
            missing += [(op, opset, each) for each in set(schema.attributes) - known if match or not why_unsupported(
                OnnxStep(op, "", "", (), (), {}, opset))]  # fmt: skip
    assert missing == []
