#!/usr/bin/env python3
"""Makes src/data/imagenet_parents.txt: the classes of ImageNet-1k, each with the coarse class that it belongs to.

Usage: imagenet_parents.py WORDNET/data.noun src/data/imagenet_classes.txt > src/data/imagenet_parents.txt
data.noun is that of WordNet 3.0 (Debian: wordnet-base). A line holds the WordNet id of a class without its n and the name of its
coarse class: that of imagenet_classes.txt where it is there, otherwise the synset's first lemma.

The coarse classes are the parents of the 1000, and where one of these lies below another, the upper one: 127, as many as in
"What makes ImageNet good for transfer learning?" (Huh et al. 2016). Of a class with several paths to the root, the one counts
whose nodes come first by name. Cut at depth 4, 7, 10, 13 and 16 the same paths give that paper's other sets, of 9, 79, 486, 753
and 918 classes; the script checks that.
"""
import sys

COARSE = 127
AT_DEPTH = {4: 9, 7: 79, 10: 486, 13: 753, 16: 918}


def read_wordnet(path):
    """offset -> (first lemma, offsets of the hypernyms)"""
    synsets = {}
    for line in open(path, encoding="utf-8"):
        if line.startswith("  "):  # the licence
            continue
        words = line.split()
        pointers = words[5 + 2 * int(words[3], 16) :]
        above = [pointers[i + 1] for i, word in enumerate(pointers) if word in ("@", "@i")]
        synsets[words[0]] = (words[4], above)
    return synsets


def path_to(synset, synsets):
    """From the root to the synset."""
    path = [synset]
    while above := synsets[path[0]][1]:
        path.insert(0, min(above, key=lambda one: synsets[one][0]))
    return path


def main():
    synsets = read_wordnet(sys.argv[1])
    lines = [line.split(maxsplit=2) for line in open(sys.argv[2], encoding="utf-8")]
    names = {one: lemma.replace("_", " ") for one, (lemma, _) in synsets.items()}
    names.update((one, name.strip()) for one, _, name in lines)
    paths = {one: path_to(one, synsets) for one, lists, _ in lines if "a" in lists}
    for depth, count in AT_DEPTH.items():
        found = len({path[:depth][-1] for path in paths.values()})
        assert found == count, f"{found} classes at depth {depth}, {count} in the paper"
    parents = {path[-2] for path in paths.values()}
    coarse = {one: next(node for node in path if node in parents) for one, path in paths.items()}
    assert len({names[parent] for parent in coarse.values()}) == COARSE
    for one, parent in sorted(coarse.items()):
        print(one, names[parent])


main()
