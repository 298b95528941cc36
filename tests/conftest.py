"""Every test starts from an empty graph, and leaves the session's as it was."""

import gc
import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from browsing import launched
from hypothesis import settings

from naive_graph import Graph
from naive_graph.core.lock import LOCK
from naive_graph.engines.select import Setting

# Scripts that ask for torch and for TensorFlow, and tests of what is not installed here.
collect_ignore = ["interop/networks/make.py", "interop/networks/digits.py", "interop/keras_networks.py"]
collect_ignore_glob = ["*conftest.py"]  # two rooms' are of one name, and doctest would import both as tests
if find_spec("onnx") is None:
    collect_ignore_glob += ["interop/*onnx*"]
if find_spec("tensorboard") is None or find_spec("numpy") is None:
    collect_ignore_glob += ["interop/*tensorflow*", "interop/graphdefs.py"]

settings.register_profile("house", max_examples=40, deadline=None)  # where a law names no number of its own
settings.load_profile("house")

# Files whose laws hold on every engine that runs graphs: each of their tests runs once for each.
OF_GRAPHS = "reference", "direct"
ON_EVERY_ENGINE = {
    "test_accuracy", "test_conventions", "test_graph", "test_merging", "test_modes",
    "test_on_invalid", "test_seed_defects", "test_staleness",
}  # fmt: skip


# Daily work: the laws of these rooms on the reference engine, and of these files beside them.
QUICK_ROOMS = {"core", "graph"}
QUICK_FILES = {
    "test_exceptions", "test_floors", "test_expression", "test_cli", "test_native", "test_passes_cse", "test_program",
    "test_minimize", "test_evaluate", "test_losses", "test_trainers", "test_steps", "test_draw", "test_history",
}  # fmt: skip


# Seconds each, beside quicker tests of the same rooms: `.ci/run` has them, the README's command does not.
THOROUGH = {
    "test_a_blocks_sums_are_within_the_stated_bound_of_the_fold_over_samples",
    "test_a_cell_above_that_fails_is_found_by_a_tap_also_where_the_browser_keeps_nothing",
    "test_a_chain_of_a_hundred_thousand_needs_no_recursion",
    "test_a_child_builds_and_compiles_although_threads_did_so_at_the_fork",
    "test_a_closed_box_is_as_large_as_its_name_and_all_moves_together",
    "test_a_concat_of_many_pieces_is_one_copy",
    "test_a_conflict_is_reported_if_and_only_if_a_bit_differs_from_the_recurrence",
    "test_a_damaged_file_is_read_as_it_was_or_refused_and_changes_nothing",
    "test_a_derivative_is_the_slope_or_lies_between_those_of_both_sides",
    "test_a_file_with_a_wrong_byte_anywhere_is_told_of_or_read",
    "test_a_finalizer_that_asks_a_graph_never_waits_for_who_waits_for_the_compiler",
    "test_a_fork_bomb_leaves_no_process",
    "test_a_guess_about_a_place_names_the_line_that_is_wrong",
    "test_a_hundred_files_that_were_changed_raise_nothing_but_words",
    "test_a_hundred_thousand_nodes_deep",
    "test_a_kill_at_any_moment_leaves_a_whole_file",
    "test_a_large_box_opens_by_keyboard_at_a_size_that_can_be_read_and_escape_leads_back",
    "test_a_large_package_fits_into_the_memory_that_an_answer_has",
    "test_a_lesson_for_gradescope_grades_one_submission_and_says_what_it_reads",
    "test_a_lesson_goes_on_without_a_solution",
    "test_a_lesson_is_solved_by_typing_in_the_page_from_top_to_bottom",
    "test_a_lesson_is_solved_wrong_first_and_then_right",
    "test_a_lesson_that_fails_is_named_with_its_error_and_leaves_the_old_notebook",
    "test_a_lesson_that_nobody_has_handed_in_is_in_no_table",
    "test_a_limit_of_time_holds_whatever_is_caught",
    "test_a_loop_goes_on_in_another_process",
    "test_a_loop_goes_on_with_the_same_bits_whatever_sets_the_rate",
    "test_a_loop_over_samples_keeps_every_bit",
    "test_a_loop_without_end_is_stopped_and_python_begins_anew",
    "test_a_mark_by_hand_replaces_one_by_running_and_stands_on_the_page_with_its_reason",
    "test_a_message_shows_the_first_case_that_fails",
    "test_a_million_events_are_one_file_under_ten_megabytes_that_opens",
    "test_a_name_that_is_given_once_to_what_answers_do_is_a_mistake_from_then_on",
    "test_a_network_goes_on_with_the_bits_of_one_that_did_not_stop",
    "test_a_node_that_very_many_use_is_shown_soon",
    "test_a_number_that_is_off_is_marked_and_fails_the_tour",
    "test_a_page_runs_what_one_types_and_asks_nobody_else",
    "test_a_picture_or_its_beginning_fits_the_screen_and_is_read_and_used_by_everybody",
    "test_a_prediction_has_points_however_it_is_written",
    "test_a_program_of_a_link_runs_at_a_click_and_not_before",
    "test_a_program_of_tensors_and_its_gradients_compute_the_same_elsewhere",
    "test_a_program_that_runs_tells_nobody_and_its_pictures_are_alive",
    "test_a_refused_exercise_says_why_and_what_was_typed_is_there_after_a_reload",
    "test_a_right_answer_passes_in_any_style",
    "test_a_room_hands_out_the_same_whatever_was_imported_before",
    "test_a_row_agrees_with_torch_beside_nasty_numbers",
    "test_a_rule_over_thousands_of_numbers_is_the_references",
    "test_a_run_goes_on_with_the_bits_of_one_that_did_not_stop_and_a_save_changes_none",
    "test_a_scalar_lesson_runs_in_the_laboratory_and_asks_nobody",
    "test_a_slow_but_right_answer_passes",
    "test_a_small_convolution_reads_digits",
    "test_a_spoilt_verdict_is_given_again",
    "test_a_submission_without_a_time_is_named_once_with_the_way_to_mend_it",
    "test_a_thumb_finds_every_button_and_nothing_is_right_before_it_is",
    "test_a_tiny_py_sees_neither_its_reference_nor_its_mistakes",
    "test_a_tree_reads_what_a_bag_of_words_cannot",
    "test_a_verdict_that_walls_may_have_made_is_not_kept",
    "test_a_wrong_answer_gets_the_share_of_its_right_cases_where_the_course_says_so",
    "test_altitudes",
    "test_another_host_is_asked_after_the_learner_was_and_not_before",
    "test_answers_that_are_alike_beyond_names_are_listed",
    "test_array_libraries",
    "test_arrays_are_sorted_as_single_numbers_are_compared",
    "test_at_least_1200_cases_give_the_expected_numbers",
    "test_calls_of_partials_are_counted",
    "test_check_complains_of_no_other_lesson",
    "test_check_names_a_stale_lesson",
    "test_check_passes_on_what_shows_the_same_texts_and_tells_another_picture",
    "test_compile_cost",
    "test_compiling_again_and_again_takes_no_more_and_more_memory",
    "test_dot_is_compiled_once_and_kept_whole_and_a_damaged_copy_is_made_anew",
    "test_draw_measured",
    "test_each_day_begun_after_the_time_takes_its_share",
    "test_each_mistake_is_recognised_as_itself",
    "test_each_student_is_set_one_variant_of_a_group_and_judged_in_it",
    "test_eighty_columns",
    "test_endless_answers_are_stopped_and_the_trace_comes_back",
    "test_endless_calls_and_exits_are_errors",
    "test_endless_calls_into_c_are_stopped",
    "test_every_door_says_which_extra_to_install",
    "test_every_exercise_of_the_lessons_is_checked_in_its_page",
    "test_every_kind_of_general_mistake_is_found",
    "test_every_mutant_of_a_solution_is_rejected_or_the_same",
    "test_every_program_prints_what_stands_below_it",
    "test_every_property_of_a_trillion_is_answered_at_once",
    "test_every_public_name_has_an_example_and_an_error_one_that_raises_it",
    "test_every_rule_in_c_is_the_references_at_the_nasty_points",
    "test_every_rule_in_javascript_is_the_references_at_the_nasty_points",
    "test_every_solution_passes_in_the_sandbox",
    "test_every_wrong_answer_is_rejected",
    "test_functions_that_double_are_refused",
    "test_gradients_leave_and_come_back_with_what_they_are_gradients_of",
    "test_grading_again_grades_only_what_was_handed_in_again",
    "test_held_list",
    "test_hostile_submissions",
    "test_in_jupyterlab",
    "test_it_fits_the_window_in_light_and_dark_and_is_left_by_keys_alone",
    "test_joining_many_tensors_takes_memory_in_proportion",
    "test_jupyterlab_starts_in_the_folder_with_lesson_1_and_stops_at_ctrl_c",
    "test_killed_half_way_it_goes_on_where_it_was",
    "test_long_calls",
    "test_loops_that_depend_on_each_other_are_near",
    "test_marks_by_hand_stand_beside_those_by_running",
    "test_moons_are_told_apart_on_arrays",
    "test_mypy_takes_the_readme_every_solution_and_what_a_user_may_rely_on",
    "test_nbgrader",
    "test_no_forgery_earns_a_point",
    "test_nothing_serious_keeps_anybody_from_using_it",
    "test_nothing_that_lies_about_is_an_answer",
    "test_objects_and_arrays_are_as_many_after_many_samples_as_after_few",
    "test_of_a_hard_graph_four_of_five_labels_and_the_beginning_are_read_at_once",
    "test_on_dask",
    "test_one_at_a_time",
    "test_one_case_of_each_operator_has_the_right_gradient",
    "test_one_student_is_graded_alone_and_told_what_is_wrong",
    "test_other_points_grade_everybody_again",
    "test_out_and_in_and_out_is_the_same_file",
    "test_own_exercises_are_graded_behind_walls_where_no_solution_is",
    "test_pages_speak_the_language_of_the_course",
    "test_passes_are_compiled_once_they_have_seen_much",
    "test_places_known_at_run_time_give_what_known_ones_give_beside_nasty_numbers",
    "test_plot_measured",
    "test_pyright_takes_them_too",
    "test_ragged_loops_are_near",
    "test_random_graphs_in_c_have_the_references_bits",
    "test_random_graphs_in_javascript_have_the_references_bits_where_no_library_is_used",
    "test_random_programs_mean_the_same_on_arrays_of_other_libraries",
    "test_references_to_nodes_that_were_let_go_are_swept_out",
    "test_root_is_told_what_to_add",
    "test_rows_and_their_derivatives_beside_nasty_numbers_are_those_of_their_scalars",
    "test_samples_are_found_in_whatever_order_they_are_written",
    "test_schemes",
    "test_seven_trainers_walk_down_every_surface_or_are_said_to_have_run_away",
    "test_site_in_a_browser",
    "test_stepper_in_notebooks",
    "test_stepper_in_sight",
    "test_taken_apart_a_training_differs_from_the_whole_ones_by_rounding",
    "test_ten_thousand_nested_functions_are_refused",
    "test_the_case_that_is_shown_is_one_that_the_guess_explains",
    "test_the_cell_itself_is_coloured",
    "test_the_chain_rule_takes_three_lines_at_most_whatever_the_graph",
    "test_the_drawings_of_a_notebook_share_one_copy_of_dot",
    "test_the_examples_of_every_page_run_where_only_its_import_is_known",
    "test_the_names_are_true",
    "test_the_page_shows_series_as_they_grow_and_scopes_as_boxes_without_a_network",
    "test_the_parts_of_a_tiny_py_are_graded_beside_the_notebook",
    "test_the_playground_runs_every_program_of_the_gallery_that_leads_there",
    "test_the_search_knows_methods_messages_and_words_of_other_libraries",
    "test_the_slides_of_every_lesson_have_room_where_a_beamer_shows_them",
    "test_the_table_says_what_is_left_out_and_why",
    "test_the_teachers_notebook_passes_its_own_checks",
    "test_the_teachers_page_counts_the_misconceptions_most_frequent_first",
    "test_the_wheel_that_is_handed_out_is_installed_with_its_lessons_and_knows_its_extras",
    "test_the_whole_site_is_made_and_served_by_one_command",
    "test_the_work_of_gradients_goes_with_the_size_of_the_graph",
    "test_thousands_of_brackets_are_no_harm",
    "test_threads_find_the_bits_of_the_recurrence_in_any_division",
    "test_tiny",
    "test_torch_agrees_in_reverse_and_forward_mode",
    "test_torch_networks",
    "test_two_builds_give_the_same_bytes",
    "test_two_runs_give_the_same_bytes",
    "test_two_tours_write_the_same_bytes",
    "test_what_a_check_accepts_has_its_points",
    "test_what_a_method_is_wrongly_given_is_told_of_in_an_error_of_ours",
    "test_what_a_node_can_do_is_there_from_the_start",
    "test_what_a_student_writes_is_text_on_the_pages",
    "test_what_an_answer_shows_of_what_it_holds_costs_no_mark",
    "test_what_came_in_goes_out_and_comes_in_again_as_the_same",
    "test_what_cases_cannot_tell_apart_is_said",
    "test_what_is_wrong_is_told_of_in_an_error_of_ours",
    "test_what_was_typed_is_downloaded_and_graded",
    "test_where_ctrl_c_is_ignored_and_nothing_is_kept_the_tests_run_as_well",
    "test_while_code_is_made_a_script_ends_forks_and_is_interrupted_as_ever",
    "test_who_drives_every_road_is_told_how_many_there_are",
    "test_who_hands_in_nothing_has_no_mark_and_is_in_no_mean",
    "test_why_there_is_no_answer_is_told",
    "test_without_a_tool_all_names_are_there_and_say_how_to_get_it",
}


# A worker takes a whole file. These take longest, so they begin first, and no worker is left with one in the end.
LONG_FILES = ("test_building", "test_judge", "test_in_jupyterlab", "test_operator_laws", "test_sandbox", "test_grading")


def pytest_configure():
    """Where a script, cron or nohup began the tests, Ctrl-C is ignored, there and in all children: tests need it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Whoever names tests wants to see them at once; starting workers takes some seconds."""
    return 0 if config.args_source.name == "ARGS" else min(4, os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays: the collector need not look for what might go of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: ([*LONG_FILES, item.path.stem]).index(item.path.stem))
    for item in items:
        is_slow = item.get_closest_marker("slow")
        if {item.path.stem, getattr(item, "originalname", "")} & THOROUGH and not is_slow:
            item.add_marker("thorough")
        if item.get_closest_marker("thorough"):
            item.add_marker("slow")
        engine = item.callspec.params.get("engine") if hasattr(item, "callspec") else None
        of_a_room = item.path.parent.name in QUICK_ROOMS and engine in (None, "reference")
        if (of_a_room or item.path.stem in QUICK_FILES) and not item.get_closest_marker("slow"):
            item.add_marker("quick")


def pytest_generate_tests(metafunc):
    if metafunc.module.__name__ in ON_EVERY_ENGINE:
        metafunc.fixturenames.append("engine")
        metafunc.parametrize("engine", OF_GRAPHS, indirect=True)


@pytest.fixture(autouse=True)  # else pytest forgets it where a test has parameters of its own
def engine(request):
    """The engine that runs where none is named."""
    before, Setting.default = Setting.default, getattr(request, "param", Setting.default)
    Setting.rows_run = 0  # what ran in other tests has no say in which engine runs in this one
    yield Setting.default
    Setting.default = before


@pytest.fixture(autouse=True, scope="module")
def what_was_there_is_not_collected_again():
    """The collector leaves alone what other files left behind, millions of objects: pytest's, torch's, and caches."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def compiled_code_apart(pytestconfig, tmp_path_factory):
    """Tests keep compiled code in a folder of their own, from one run to the next: its names tell its sources."""
    kept = getattr(pytestconfig, "cache", None)  # not there with -p no:cacheprovider
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAIVE_GRAPH_CACHE", str(kept.mkdir("compiled") if kept else tmp_path_factory.mktemp("compiled")))
        yield


@pytest.fixture(autouse=True)
def empty_graph():
    before = Graph.on_invalid
    with Graph.scratch():
        yield
    Graph.on_invalid = before


@pytest.fixture(scope="module")  # while it is open, no other test of this process may begin an event loop
def browser():
    with launched() as chromium:
        yield chromium


@pytest.fixture(autouse=True)
def ctrl_c_as_it_was():
    """Who leaves another answer to Ctrl-C behind is the test that fails, and not one that comes later."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    if after is not before:
        signal.signal(signal.SIGINT, before)
    assert after is before


@pytest.fixture(autouse=True)
def graph_lock_is_free():
    """Who leaves the graph's lock held is the test that fails, and not a thread of a later one that waits for ever."""
    yield
    times = 0
    while LOCK._is_owned():
        LOCK.release()
        times += 1
    assert not times, f"the main thread still holds the graph's lock, {times} times"
    assert LOCK.acquire(timeout=60), "another thread still holds the graph's lock"
    LOCK.release()


@pytest.fixture
def ignoring_invalid():
    Graph.on_invalid = "ignore"
    yield


@pytest.fixture
def data_apart(tmp_path, monkeypatch):
    """The progress of tests is kept apart from the learner's."""
    monkeypatch.setenv("NAIVE_GRAPH_DATA", str(tmp_path / "data"))


@pytest.fixture(scope="session")
def given(tmp_path_factory):
    """The archives of others that the playground needs: those of a folder, or npm's."""
    folder = os.environ.get("NAIVE_GRAPH_PLAYGROUND_PARTS")
    if not folder:
        folder = tmp_path_factory.mktemp("parts")
        from naive_graph.errors import MissingToolError
        from naive_graph.views.playground.parts import _download

        try:
            _download(folder)
        except MissingToolError as error:
            pytest.skip(str(error))
    return Path(folder)
