"""models/tiny-translate/grammar.py: the sentences that the small translator learns from."""

import csv
import io
import re
import subprocess
import sys

import pytest
from conftest import ROOT

GRAMMAR = ROOT / "models" / "tiny-translate" / "grammar.py"

ENGLISH = """a am an apple apples are at ate be beijing big bird birds book books bought busy buy buys car cars cat cats
cheap coffee cup cups cute day did do doctor doctors does dog dogs drank drink drinks eat eats egg eggs eight every
expensive father fish five flower flowers four friend friends gave give go goes happy has have he her him his home i in
is know knows letter letters library like likes long love loves me milk miss misses mother my new nine not of old our
park pretty read reads saw school see seven she shirt shirts shop six small student students table tables tall tea
teacher teachers ten that the their them they this three tired to today tomorrow two us very want wants was water we
went were will with write writes wrote yesterday you your""".split()
CHINESE = (
    "一七三不两个九书买了五京亮今他们件你便信八公六兴写北医十去友只可吃吗和咖商啡喜喝四园图在大天奶她妈子学宜家封小师常店"
    "张很忙想我新旧明昨是有朋本朵条杯果校桌欢每水没漂爱爸牛狗猫生的看累给老花苹茶蛋衫衬要见认识贵起车辆这那长非馆高鱼鸟鸡？"
)


def written(*arguments):
    done = subprocess.run([sys.executable, GRAMMAR, *map(str, arguments)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def sentences(data):
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"))))
    assert rows[0] == ["text", "target"]
    return rows[1:]


@pytest.fixture(scope="module")
def many():
    return sentences(written("--count", 20000, "--seed", 1))


@pytest.fixture(scope="module")
def by_english():
    return dict(sentences(written("--count", 60000, "--seed", 1)))


def test_every_sentence_is_there_once_and_i_love_you_among_them(many):
    assert len(many) == 20000
    assert len({english for english, _ in many}) == 20000
    assert ["I love you", "我爱你"] in many


def test_only_known_words_are_used_and_all_of_them(many):
    assert {word for english, _ in many for word in re.findall(r"[a-z]+", english.lower())} == set(ENGLISH)
    assert {letter for _, chinese in many for letter in chinese} == set(CHINESE)
    assert all(re.fullmatch(r"[A-Z][A-Za-z ]*\??", english) for english, _ in many)


def test_questions_are_questions_in_both_languages(many):
    for english, chinese in many:
        assert english.endswith("?") == chinese.endswith("吗？"), (english, chinese)
        assert "？" not in chinese[:-1] and "吗" not in chinese[:-2]


def test_articles_and_verbs_agree_with_their_words(many):
    for english, _ in many:
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", english), english
        if not english.endswith("?"):
            assert not re.match(r"(He|She|The \w+|My \w+) (am|are|do|have|want|like|love|go) ", english), english
            assert not re.match(r"(I|You|We|They) (is|does|has|wants|likes|loves|goes) ", english), english


@pytest.mark.parametrize(
    "english, chinese",
    [
        ("I love you today", "我今天爱你"),
        ("Do you love me?", "你爱我吗？"),
        ("He does not love you", "他不爱你"),
        ("This book is new", "这本书很新"),
        ("I am not busy today", "我今天不忙"),
        ("They are very happy", "他们非常高兴"),
        ("My mother is not at home", "我妈妈不在家"),
    ],
)
def test_words_follow_chinese_order(english, chinese, by_english):
    assert by_english[english] == chinese


def test_a_number_has_its_measure_word(many):
    measures = {"books": "本", "cars": "辆", "shirts": "件", "tables": "张", "flowers": "朵", "letters": "封"}
    measures |= {"cats": "只", "dogs": "只", "birds": "只", "apples": "个", "eggs": "个", "friends": "个"}
    numbers = dict(zip("two three four five six seven eight nine ten".split(), "两三四五六七八九十"))
    found = 0
    for english, chinese in many:
        match = re.search(rf"\b({'|'.join(numbers)}) (?:\w+ )?({'|'.join(measures)})\b", english)
        if match:
            found += 1
            assert numbers[match[1]] + measures[match[2]] in chinese, (english, chinese)
    assert found > 1000


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path):
    first = written("--count", 500, "--seed", 7)
    assert written("--count", 500, "--seed", 7) == first
    assert written("--count", 500, "--seed", 8) != first
    assert written("--count", 500, "--seed", 7, "--to", tmp_path / "pairs.csv") == b""
    assert (tmp_path / "pairs.csv").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]


@pytest.mark.parametrize("count", [0, 200001])
def test_an_impossible_count_is_refused(count):
    done = subprocess.run([sys.executable, GRAMMAR, "--count", str(count)], capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"from 1 to 200000" in done.stderr
