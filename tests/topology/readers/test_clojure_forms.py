import pytest

from ackdoctor.topology.readers.clojure_forms import FormError, read_forms


def values(text):
    return [(form.kind, form.value) for form in read_forms(text)]


def test_atoms():
    text = r'''"a\"b\n" :key sym nil true -3 2.5 7N \a \( #"x(y"'''
    assert values(text) == [
        ("string", 'a"b\n'),
        ("keyword", "key"),
        ("symbol", "sym"),
        ("literal", None),
        ("literal", True),
        ("number", -3),
        ("number", 2.5),
        ("number", 7),
        ("other", r"\a"),
        ("other", r"\("),
        ("other", '#"x(y"'),
    ]


def test_commas_comments_and_discarded_forms_are_space():
    (form,) = read_forms('["a", "b" ; "c" ]\n #_"d" #_ #_ "e" "f" "g"]')
    assert [each.value for each in form.items] == ["a", "b", "g"]


def test_lines_are_counted_through_strings_and_comments():
    forms = read_forms('"two\nlines" ; comment\n(a\n b)')
    assert [form.line for form in forms] == [1, 3]
    assert forms[1].items[1].line == 4


def test_metadata_is_dropped_and_other_prefixes_hide_the_value():
    kinds = [form.kind for form in read_forms("^{:doc 1} x #^String y 'z @w #inst \"2026\" #'v `(a ~b)")]
    assert kinds == ["symbol", "symbol", "other", "other", "other", "other", "other"]


def test_head_has_no_namespace():
    assert [form.head for form in read_forms("(specs/python-bolt-spec 1) () [a] ((f))")] == [
        "python-bolt-spec",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("(a\n [b", 2, "`[` is not closed"),
        ("(a\n b]", 2, "`]` closes nothing"),
        (")", 1, "`)` closes nothing"),
        ('(a "b\n', 1, "a string is not closed"),
        ("[a\n #_]", 2, "`]` closes nothing"),
        ("{:a 1\n :b}", 1, "a map has a key without a value"),
        ("(" * 5000, 1, "forms are nested more than 200 deep"),
        ("'" * 5000, 1, "forms are nested more than 200 deep"),
        ("a" * 1_000_001, 0, "the file has more than 1,000,000 characters"),
    ],
)
def test_broken_text(text, line, why):
    with pytest.raises(FormError) as error:
        read_forms(text)
    assert (error.value.line, str(error.value)) == (line, why)
