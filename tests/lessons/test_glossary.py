"""The glossary has each term once, its examples run, and the lessons that it names speak of it."""

import doctest
import re

from lesson_files import FOLDER, said, titles

TEXT = (FOLDER / "notes" / "glossary.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^## (.+)\n\n((?:(?!## ).*\n)+?)\nIn \*(.+)\*\.\n", re.MULTILINE)
ENTRIES = ENTRY.findall(TEXT)


def test_every_term_stands_once_in_alphabetical_order_with_its_meaning_and_its_lesson():
    terms = re.findall("^## (.+)", TEXT, re.MULTILINE)
    assert terms == [term for term, _, _ in ENTRIES]
    assert terms == sorted({each.casefold(): each for each in terms}.values(), key=str.casefold)


def test_every_lesson_has_terms_and_speaks_of_them_or_of_the_word_that_it_has_for_them():
    lessons = {title: said(lesson) for title, lesson in titles().items()}
    assert {title for _, _, title in ENTRIES} == lessons.keys()
    for term, meaning, title in ENTRIES:
        words = [term.split()[0][:5], *re.findall(r"\*([^*]+)\*", meaning)]  # "normalisation" is `normalise` there
        assert any(re.search(rf"\b{re.escape(word)}", lessons[title], re.IGNORECASE) for word in words), term


def test_the_examples_give_what_they_show():
    examples = doctest.DocTestParser().get_doctest(TEXT, {}, "glossary.md", "glossary.md", 0)
    ran = doctest.DocTestRunner(verbose=False).run(examples)
    assert ran.attempted > 20 and ran.failed == 0
