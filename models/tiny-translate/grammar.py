"""Writes English sentences with their Chinese translations, made by a small grammar: what tiny-translate learns from.

    python3 models/tiny-translate/grammar.py --count 20000 --seed 1 --to pairs.csv

Columns `text` (English) and `target` (Chinese). Every sentence is there once, "I love you" is the first, and the same
count and seed give the same file. The two languages do not go side by side: time and place stand before the Chinese verb
and behind the English one, a question ends in 吗, numbers want a measure word, `is` becomes 很 or nothing.
"""

import argparse
import csv
import dataclasses
import io
import os
import random
import sys

MOST = 200_000  # the grammar has more, but they come ever more slowly


@dataclasses.dataclass(frozen=True)
class Person:
    """A subject. `key` tells who it is, so that nobody does something to himself."""

    subject: str
    zh: str
    key: str
    object: str = ""
    third: bool = True  # takes "loves", "is"
    plural: bool = False
    asked: bool = True  # "Do I love you?" would be a strange question

    @property
    def be(self):
        return "am" if self.subject == "I" else "is" if self.third else "are"

    @property
    def was(self):
        return "was" if self.subject == "I" or self.third else "were"

    @property
    def do(self):
        return "does" if self.third else "do"

    @property
    def have(self):
        return "has" if self.third else "have"


@dataclasses.dataclass(frozen=True)
class Noun:
    one: str
    many: str
    zh: str
    measure: str = "个"

    @property
    def article(self):
        return "an" if self.one[0] in "aeiou" else "a"


PRONOUNS = (
    Person("I", "我", "1", "me", third=False, asked=False),
    Person("you", "你", "2", "you", third=False),
    Person("he", "他", "he", "him"),
    Person("she", "她", "she", "her"),
    Person("we", "我们", "1", "us", third=False, plural=True, asked=False),
    Person("they", "他们", "they", "them", third=False, plural=True),
)
OWNERS = (("my", "我"), ("your", "你"), ("his", "他"), ("her", "她"), ("our", "我们"), ("their", "他们"))

KIN = (Noun("mother", "mothers", "妈妈"), Noun("father", "fathers", "爸爸"))
ROLES = (
    Noun("friend", "friends", "朋友"),
    Noun("teacher", "teachers", "老师"),
    Noun("doctor", "doctors", "医生"),
    Noun("student", "students", "学生"),
)
ANIMALS = (Noun("cat", "cats", "猫", "只"), Noun("dog", "dogs", "狗", "只"), Noun("bird", "birds", "鸟", "只"))
THINGS = (
    Noun("book", "books", "书", "本"),
    Noun("car", "cars", "车", "辆"),
    Noun("shirt", "shirts", "衬衫", "件"),
    Noun("table", "tables", "桌子", "张"),
    Noun("flower", "flowers", "花", "朵"),
)
LETTER = Noun("letter", "letters", "信", "封")
FISH = Noun("fish", "fish", "鱼", "条")
FOODS = (Noun("apple", "apples", "苹果"), Noun("egg", "eggs", "鸡蛋"), FISH)
DRINKS = (("tea", "茶"), ("coffee", "咖啡"), ("milk", "牛奶"), ("water", "水"))
NUMBERS = (
    ("two", "两"),
    ("three", "三"),
    ("four", "四"),
    ("five", "五"),
    ("six", "六"),
    ("seven", "七"),
    ("eight", "八"),
    ("nine", "九"),
    ("ten", "十"),
)
# Where somebody goes; where something happens is "in" or "at" it.
GOALS = (
    ("school", "学校", "at"),
    ("the park", "公园", "in"),
    ("the library", "图书馆", "in"),
    ("the shop", "商店", "in"),
    ("Beijing", "北京", "in"),
)
PLACES = (("at home", "在家"),) + tuple((f"{where} {en}", f"在{zh}") for en, zh, where in GOALS)

MOODS = (("happy", "高兴"), ("busy", "忙"), ("tired", "累"))
LOOKS = (("tall", "高"), ("pretty", "漂亮"))
SHAPES = (("big", "大"), ("small", "小"))
AGES = (("new", "新"), ("old", "旧"))
PRICES = (("expensive", "贵"), ("cheap", "便宜"))


def subject_of(noun_phrase, zh, key):
    return Person(noun_phrase, zh, key, noun_phrase, asked=not noun_phrase.startswith(("my ", "our ")))


def owned(owner, noun):
    """my mother -> 我妈妈, our mother -> 我们的妈妈, my cat -> 我的猫"""
    en, zh = owner
    close = noun in KIN and len(zh) == 1
    return f"{en} {noun.one}", f"{zh}{'' if close else '的'}{noun.zh}"


class Grammar:
    """Each method below that is named in RULES makes one sentence: (English without capitals, Chinese)."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    # --- parts ---

    def pick(self, *groups):
        return self.random.choice([each for group in groups for each in group])

    def chance(self, share):
        return self.random.random() < share

    def human(self):
        """Half of them pronouns, else `the teacher` or `my mother`."""
        if self.chance(0.5):
            return self.pick(PRONOUNS)
        noun = self.pick(KIN, ROLES)
        if noun in ROLES[1:] and self.chance(0.35):
            return subject_of(f"the {noun.one}", noun.zh, f"the {noun.one}")
        en, zh = owned(self.pick(OWNERS), noun)
        return subject_of(en, zh, en)

    def other(self, than):
        """A person as an object, and not the subject again."""
        while True:
            person = self.human()
            if person.key != than.key:
                return person.object, person.zh

    def animal(self):
        en, zh = owned(self.pick(OWNERS), self.pick(ANIMALS))
        return subject_of(en, zh, en)

    def this(self, noun):
        en, zh = self.pick((("this", "这"), ("that", "那")))
        return f"{en} {noun.one}", f"{zh}{noun.measure}{noun.zh}"

    def counted(self, noun, most=10):
        """a book -> 一本书, three big apples -> 三个大苹果, a cheap shirt -> 一件便宜的衬衫"""
        en_kind, zh_kind = "", ""
        if self.chance(0.3):
            kinds = SHAPES if noun in FOODS or noun in ANIMALS else (("new", "新"), ("cheap", "便宜的"), ("big", "大"))
            kinds = kinds + (("cute", "可爱的"),) if noun in ANIMALS else kinds
            kinds = (("pretty", "漂亮的"),) if noun.one == "flower" else (("long", "长"),) if noun is LETTER else kinds
            en_kind, zh_kind = self.pick(kinds)
            en_kind += " "
        if self.chance(0.3):
            article = "a" if en_kind else noun.article
            return f"{article} {en_kind}{noun.one}", f"一{noun.measure}{zh_kind}{noun.zh}"
        en, zh = self.pick(NUMBERS[: most - 1])
        return f"{en} {en_kind}{noun.many}", f"{zh}{noun.measure}{zh_kind}{noun.zh}"

    def cups(self, drink):
        en, zh = drink
        if self.chance(0.3):
            return f"a cup of {en}", f"一杯{zh}"
        number, zh_number = self.pick(NUMBERS[:4])
        return f"{number} cups of {en}", f"{zh_number}杯{zh}"

    def deed(self):
        """(present, past, Chinese verb, some of it, a number of it): what people do with things."""
        which = self.random.randrange(5)
        if which == 0:
            noun = self.pick(FOODS)
            return "eat", "ate", "吃", (noun.many, noun.zh), self.counted(noun, 6)
        if which == 1:
            drink = self.pick(DRINKS)
            return "drink", "drank", "喝", drink, self.cups(drink)
        if which == 2:
            noun = self.pick(THINGS, FOODS)
            return "buy", "bought", "买", (noun.many, noun.zh), self.counted(noun)
        if which == 3:
            noun = THINGS[0]
            return "read", "read", "看", (noun.many, noun.zh), self.counted(noun)
        return "write", "wrote", "写", (LETTER.many, LETTER.zh), self.counted(LETTER)

    def place(self, verb):
        """Where it is done, or nowhere; nobody buys a table at home."""
        if not self.chance(0.35):
            return "", ""
        shops = [place for place in PLACES if place[1] in ("在商店", "在北京")]
        halls = [place for place in PLACES if place[1] not in ("在商店", "在图书馆")]
        quiet = [place for place in PLACES if place[1] != "在商店"]
        en, zh = self.pick(shops if verb == "买" else halls if verb in "吃喝" else quiet)
        return " " + en, zh

    @staticmethod
    def conjugated(person, verb):
        if not person.third:
            return verb
        return verb + ("es" if verb.endswith(("s", "o")) else "s")

    @staticmethod
    def question(en, zh):
        return en + "?", zh + "吗？"

    def manner(self, person):
        """Whether it is said, denied or asked."""
        said = self.random.random()
        if said < 0.25 and person.asked:
            return "asked"
        return "denied" if said > 0.75 else "said"

    def told(self, person, verb, tail, zh):
        """A present sentence: person, verb, the rest; the Chinese is (between, verb and the rest)."""
        between, rest = zh
        manner = self.manner(person)
        if manner == "asked":
            return self.question(f"{person.do} {person.subject} {verb}{tail}", f"{person.zh}{between}{rest}")
        if manner == "denied":
            return f"{person.subject} {person.do} not {verb}{tail}", f"{person.zh}{between}不{rest}"
        return f"{person.subject} {self.conjugated(person, verb)}{tail}", f"{person.zh}{between}{rest}"

    # --- sentences ---

    def feeling(self):
        person = self.human()
        verb, zh = self.pick((("love", "爱"), ("like", "喜欢"), ("know", "认识"), ("miss", "想")))
        en_object, zh_object = self.other(person)
        if verb == "love" and self.chance(0.3):
            return self.told(person, verb, f" {en_object} today", ("今天", zh + zh_object))
        return self.told(person, verb, f" {en_object}", ("", zh + zh_object))

    def liking(self):
        person = self.human()
        which = self.random.randrange(4)
        if which == 0:
            noun = self.pick(ANIMALS, THINGS, FOODS)
            thing = noun.many, noun.zh
        elif which == 1:
            thing = self.pick(DRINKS, (("Beijing", "北京"),))
        elif which == 2:
            thing = self.this(self.pick(ANIMALS, THINGS))
        else:
            thing = owned(self.pick(OWNERS), self.pick(ANIMALS, THINGS))
        return self.told(person, "like", f" {thing[0]}", ("", f"喜欢{thing[1]}"))

    def habit(self):
        person = self.human()
        verb, _, zh, some, _ = self.deed()
        where, zh_where = self.place(zh)
        daily = verb != "buy" or some[1] in ("书", "花", "鱼", "苹果", "鸡蛋")  # nobody buys a car every day
        if daily and self.chance(0.5):
            # Not denied: 我不每天喝茶 is hardly said.
            tail, rest = f" {some[0]}{where} every day", f"每天{zh_where}{zh}{some[1]}"
            if person.asked and self.chance(0.3):
                return self.question(f"{person.do} {person.subject} {verb}{tail}", f"{person.zh}{rest}")
            return f"{person.subject} {self.conjugated(person, verb)}{tail}", f"{person.zh}{rest}"
        return self.told(person, verb, f" {some[0]}{where}", ("", f"{zh_where}{zh}{some[1]}"))

    def timed(self, person, en, zh, when):
        """A sentence with its time behind it, or, in English, before it."""
        word, zh_word = when
        if self.chance(0.25):
            return f"{word} {person.subject} {en}", f"{person.zh}{zh_word}{zh}"
        return f"{person.subject} {en} {word}", f"{person.zh}{zh_word}{zh}"

    def past(self):
        person = self.human()
        verb, past, zh, some, number = self.deed()
        where, zh_where = self.place(zh)
        yesterday = ("yesterday", "昨天")
        if self.chance(0.3):
            return self.timed(person, f"did not {verb} {some[0]}{where}", f"没{zh_where}{zh}{some[1]}", yesterday)
        return self.timed(person, f"{past} {number[0]}{where}", f"{zh_where}{zh}了{number[1]}", yesterday)

    def future(self):
        person = self.human()
        verb, _, zh, some, number = self.deed()
        where, zh_where = self.place(zh)
        when = self.pick((("tomorrow", "明天"), ("today", "今天")))
        manner = self.manner(person)
        if manner == "asked":
            en = f"will {person.subject} {verb} {some[0]}{where} {when[0]}"
            return self.question(en, f"{person.zh}{when[1]}要{zh_where}{zh}{some[1]}")
        if manner == "denied":
            return self.timed(person, f"will not {verb} {some[0]}{where}", f"不{zh_where}{zh}{some[1]}", when)
        return self.timed(person, f"will {verb} {number[0]}{where}", f"要{zh_where}{zh}{number[1]}", when)

    def wish(self):
        person = self.human()
        verb, _, zh, some, number = self.deed()
        thing = some if self.chance(0.5) else number
        manner = self.manner(person)
        if manner == "denied":
            thing = some
        tail, rest = f" to {verb} {thing[0]}", f"想{zh}{thing[1]}"
        if manner == "asked":
            return self.question(f"{person.do} {person.subject} want{tail}", f"{person.zh}{rest}")
        if manner == "denied":
            return f"{person.subject} {person.do} not want{tail}", f"{person.zh}不{rest}"
        return f"{person.subject} {self.conjugated(person, 'want')}{tail}", f"{person.zh}{rest}"

    def described(self, person, kind, when=("", "")):
        """is -> 很, is very -> 非常, is not -> 不, is it? -> 吗"""
        (en, zh), (word, zh_word) = kind, when
        tail = f" {word}" if word else ""
        manner = self.manner(person)
        future = word == "tomorrow"
        be = "will be" if future else person.was if word == "yesterday" else person.be
        if manner == "asked":
            asked = f"will {person.subject} be {en}{tail}" if future else f"{be} {person.subject} {en}{tail}"
            return self.question(asked, f"{person.zh}{zh_word}{zh}")
        if manner == "denied":
            be = "will not be" if future else f"{be} not"
            return f"{person.subject} {be} {en}{tail}", f"{person.zh}{zh_word}不{zh}"
        if self.chance(0.3):
            return f"{person.subject} {be} very {en}{tail}", f"{person.zh}{zh_word}非常{zh}"
        return f"{person.subject} {be} {en}{tail}", f"{person.zh}{zh_word}很{zh}"

    def mood(self):
        whens = (("", ""), ("today", "今天"), ("yesterday", "昨天"), ("tomorrow", "明天"))
        return self.described(self.human(), self.pick(MOODS), self.pick(whens))

    def look(self):
        person = self.human()
        if person.zh.endswith(("他", "他们", "爸爸")):
            return self.described(person, LOOKS[0])
        return self.described(person, self.pick(LOOKS))

    def kind_of_thing(self):
        if self.chance(0.4):
            noun = self.pick(ANIMALS)
            kinds = SHAPES + (("cute", "可爱"),)
        else:
            noun = self.pick([thing for thing in THINGS if thing.one != "flower"])
            kinds = AGES + PRICES + ((LOOKS[1],) if noun.one != "book" else ())
            kinds += SHAPES if noun.one != "shirt" else ()
        en, zh = self.this(noun) if self.chance(0.5) else owned(self.pick(OWNERS), noun)
        return self.described(subject_of(en, zh, en), self.pick(kinds))

    def having(self):
        person = self.human()
        noun = self.pick(ANIMALS, THINGS, ROLES[:1])
        manner = self.manner(person)
        if manner == "asked":
            asked = f"{person.do} {person.subject} have {noun.article} {noun.one}"
            return self.question(asked, f"{person.zh}有{noun.zh}")
        if manner == "denied":
            return f"{person.subject} {person.do} not have {noun.article} {noun.one}", f"{person.zh}没有{noun.zh}"
        number = self.counted(noun)
        if noun in ROLES:
            many, zh_many = self.pick(NUMBERS)
            number = f"{many} {noun.many}", f"{zh_many}个{noun.zh}"
        return f"{person.subject} {person.have} {number[0]}", f"{person.zh}有{number[1]}"

    def being_at(self):
        person = self.human() if self.chance(0.8) else self.animal()
        en, zh = self.pick(PLACES)
        word, zh_word = self.pick((("", ""), ("today", "今天"), ("yesterday", "昨天")))
        be = person.was if word == "yesterday" else person.be
        tail = f" {word}" if word else ""
        manner = self.manner(person)
        if manner == "asked":
            return self.question(f"{be} {person.subject} {en}{tail}", f"{person.zh}{zh_word}{zh}")
        denied, zh_denied = (" not", "不") if manner == "denied" else ("", "")
        return f"{person.subject} {be}{denied} {en}{tail}", f"{person.zh}{zh_word}{zh_denied}{zh}"

    def going(self):
        person = self.human()
        en, zh, _ = self.pick(GOALS)
        with_whom, zh_with = "", ""
        if self.chance(0.5):
            other, zh_other = self.other(person)
            with_whom, zh_with = f" with {other}", f"和{zh_other}一起"
        tail = f"to {en}{with_whom}"
        which = self.random.randrange(5)
        yesterday, tomorrow = ("yesterday", "昨天"), ("tomorrow", "明天")
        if which == 0:
            return f"{person.subject} {self.conjugated(person, 'go')} {tail} every day", f"{person.zh}每天{zh_with}去{zh}"
        if which == 1:
            return self.timed(person, f"went {tail}", f"{zh_with}去了{zh}", yesterday)
        if which == 2:
            return self.timed(person, f"did not go {tail}", f"没{zh_with}去{zh}", yesterday)
        if which == 3 and person.asked:
            return self.question(f"will {person.subject} go {tail} tomorrow", f"{person.zh}明天要{zh_with}去{zh}")
        return self.timed(person, f"will go {tail}", f"要{zh_with}去{zh}", tomorrow)

    def identity(self):
        if self.chance(0.5):
            noun = self.pick(ANIMALS, THINGS)
            en, zh = owned(self.pick(OWNERS), noun)
            this, zh_this = self.pick((("this", "这"), ("that", "那")))
            if self.chance(0.25):
                return self.question(f"is {this} {en}", f"{zh_this}是{zh}")
            denied, zh_denied = (" not", "不") if self.chance(0.3) else ("", "")
            return f"{this} is{denied} {en}", f"{zh_this}{zh_denied}是{zh}"
        person = self.pick(PRONOUNS)
        noun = self.pick(ROLES)
        en, zh = (noun.many, noun.zh) if person.plural else (f"{noun.article} {noun.one}", noun.zh)
        owner = self.pick(OWNERS)
        if not person.plural and noun in ROLES[:3] and owner[1] not in person.zh and self.chance(0.6):
            en, zh = owned(owner, noun)
        manner = self.manner(person)
        if manner == "asked":
            return self.question(f"{person.be} {person.subject} {en}", f"{person.zh}是{zh}")
        denied, zh_denied = (" not", "不") if manner == "denied" else ("", "")
        return f"{person.subject} {person.be}{denied} {en}", f"{person.zh}{zh_denied}是{zh}"

    def seeing(self):
        person = self.human()
        where, zh_where = self.place("看")
        yesterday = ("yesterday", "昨天")
        whom = self.other(person) if self.chance(0.5) else owned(self.pick(OWNERS), self.pick(ANIMALS))
        if self.chance(0.35):
            return self.timed(person, f"did not see {whom[0]}{where}", f"没{zh_where}看见{whom[1]}", yesterday)
        if self.chance(0.4):
            whom = self.counted(self.pick(ANIMALS))
        return self.timed(person, f"saw {whom[0]}{where}", f"{zh_where}看见了{whom[1]}", yesterday)

    def giving(self):
        person = self.human()
        whom, zh_whom = self.other(person)
        thing, zh_thing = self.counted(self.pick(THINGS[:1], THINGS[2:3], THINGS[4:], FOODS[:2], ANIMALS[:2]), 6)
        if self.chance(0.5):
            return self.timed(person, f"gave {whom} {thing}", f"给了{zh_whom}{zh_thing}", ("yesterday", "昨天"))
        return self.timed(person, f"will give {whom} {thing}", f"要给{zh_whom}{zh_thing}", ("tomorrow", "明天"))

    def pet(self):
        person = self.animal()
        verb, en, zh = self.pick((("eat", "fish", "吃鱼"), ("drink", "water", "喝水"), ("drink", "milk", "喝牛奶")))
        if self.chance(0.5):
            return f"{person.subject} {verb}s {en} every day", f"{person.zh}每天{zh}"
        return self.told(person, verb, f" {en}", ("", zh))

    RULES = (feeling, feeling, liking, habit, past, future, wish, mood, look, kind_of_thing, having, being_at, going)
    RULES += (identity, seeing, giving, pet)

    def sentence(self):
        en, zh = self.random.choice(self.RULES)(self)
        return en[0].upper() + en[1:], zh


def pairs(count, seed):
    """`count` sentences, each once."""
    grammar = Grammar(seed)
    found = {"I love you": "我爱你"}
    while len(found) < count:
        en, zh = grammar.sentence()
        found.setdefault(en, zh)
    return list(found.items())


def main(arguments=None):
    parser = argparse.ArgumentParser(description="English sentences with their Chinese translations, made by a grammar.")
    parser.add_argument("--count", type=int, default=20_000, help="how many sentences (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other sentences (default %(default)s)")
    parser.add_argument("--to", help="the CSV file to write; without it, standard output")
    options = parser.parse_args(arguments)
    if not 1 <= options.count <= MOST:
        parser.error(f"--count is {options.count}; it should be from 1 to {MOST}")
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("text", "target"))
    table.writerows(pairs(options.count, options.seed))
    if options.to is None:
        sys.stdout.buffer.write(text.getvalue().encode("utf-8"))
        return
    beside = options.to + ".part"
    with open(beside, "w", encoding="utf-8", newline="") as out:
        out.write(text.getvalue())
    os.replace(beside, options.to)


if __name__ == "__main__":
    main()
