#!/usr/bin/env python3
"""Makes src/data/imagenet_classes.txt: WordNet id, the ImageNet lists that have it, and its name.

Usage: imagenet_classes.py WORDNET/data.noun FOLDER > src/data/imagenet_classes.txt
data.noun is that of WordNet 3.0, whose byte offsets ImageNet's ids are (Debian: wordnet-base). FOLDER
has a file of ids, one per line, for each list of LISTS.

Classes are matched by name, so no two share one. A synset is called by its first lemma; where several
have the same (in any case), those of ImageNet-1k come first, another lemma is preferred that is nobody
else's, and "crane (wading bird)" says of what kind it is where there is none.
"""
import collections
import pathlib
import sys

# The letter of a list in the file. Every list is sorted by id, so a letter is all that it takes.
LISTS = {
    "a": "imagenet_synsets.txt",  # ImageNet-1k, 1000
    "b": "imagenet22k_synsets.txt",  # ImageNet-21k of autumn 2011, 21841
    "c": "imagenet21k_goog_synsets.txt",  # the same as Google trained on it, 21843
    "d": "imagenet21k_miil_synsets.txt",  # ImageNet-21k-P, 11221
    "e": "imagenet12k_synsets.txt",  # 11821
}


def read_wordnet(path):
    """offset -> (lemmas, offset of the first hypernym or None)"""
    synsets = {}
    for line in open(path, encoding="utf-8"):
        if line.startswith("  "):  # the licence
            continue
        words = line.split()
        count = int(words[3], 16)
        lemmas = [word.replace("_", " ") for word in words[4 : 4 + 2 * count : 2]]
        pointers = words[5 + 2 * count :]
        kinds = [i for i, word in enumerate(pointers) if word in ("@", "@i")]
        synsets[int(words[0])] = (lemmas, int(pointers[kinds[0] + 1]) if kinds else None)
    return synsets


def choose_names(ids, synsets, taken):
    """One name for each id, none of them in `taken` (lower case), which grows."""
    lemmas = {one: synsets[int(one[1:])][0] for one in ids}
    first = collections.defaultdict(list)
    for one in ids:
        first[lemmas[one][0].lower()].append(one)
    names = {}

    def take(one, name):
        names[one] = name
        taken.add(name.lower())

    for key, group in first.items():
        if len(group) == 1 and key not in taken:
            take(group[0], lemmas[group[0]][0])
    for key, group in first.items():
        left = []
        for one in (one for one in group if one not in names):
            free = [x for x in lemmas[one][1:] if x.lower() not in taken and x.lower() not in first]
            take(one, free[0]) if free else left.append(one)
        if len(left) == 1 and key not in taken:
            take(left[0], lemmas[left[0]][0])
            continue
        for one in left:
            kind = synsets[synsets[int(one[1:])][1]][0][0]
            name = f"{lemmas[one][0]} ({kind})"
            take(one, name if name.lower() not in taken else f"{name}, {one}")
    return names


def main():
    wordnet, folder = sys.argv[1:]
    synsets = read_wordnet(wordnet)
    lists = {c: pathlib.Path(folder, name).read_text().split() for c, name in LISTS.items()}
    assert all(ids == sorted(set(ids)) for ids in lists.values())
    taken = set()
    names = choose_names(lists["a"], synsets, taken)
    names |= choose_names(sorted(set().union(*lists.values()) - names.keys()), synsets, taken)
    assert len({name.lower() for name in names.values()}) == len(names)
    members = {c: set(ids) for c, ids in lists.items()}
    for one in sorted(names):
        letters = "".join(c for c in LISTS if one in members[c])
        print(one[1:], letters, names[one])


main()
