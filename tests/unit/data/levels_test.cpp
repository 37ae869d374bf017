// The same images labelled at several levels: where the levels come from, and how one is chosen.
#include "data/levels.h"

#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Levels, OfATableAreItsColumns) {
    const TemporaryFolder folder;
    for (const char* name : {"a", "b", "c"}) put_image(folder / (std::string(name) + ".png"));
    put(folder / "t.csv", "path,fine,coarse,super\na.png,10,1,0\nb.png,2,0,0\nc.png,7,1,0\n");
    const std::string uri = "csv:" + (folder / "t.csv").string();
    const DatasetPtr all = open_dataset(uri + "?levels=super,coarse,fine");
    EXPECT_THAT(all->levels(), ElementsAre("super", "coarse", "fine"));
    EXPECT_THAT(all->classes(), ElementsAre("2", "7", "10"));  // the finest is the label
    EXPECT_THAT(labels_of(*all), ElementsAre(2, 0, 1));
    const DatasetPtr coarse = open_dataset(uri + "?levels=super,coarse,fine&level=coarse");
    EXPECT_THAT(coarse->classes(), ElementsAre("0", "1"));
    EXPECT_THAT(labels_of(*coarse), ElementsAre(1, 0, 1));
    EXPECT_THAT(coarse->levels(), ElementsAre("super", "coarse", "fine"));  // all are still there
    EXPECT_THAT(open_dataset(uri + "?levels=coarse,fine&label=super")->classes(), ElementsAre("0"));
    EXPECT_THAT(open_dataset(uri + "?label=fine")->levels(), IsEmpty());
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?levels=coarse,genus"); }),
                HasSubstr("expected a column 'genus'"));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?levels=fine,fine"); }),
                HasSubstr("levels: expected different columns"));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?levels=coarse,fine&level=genus"); }),
                HasSubstr("level 'genus': expected one of coarse, fine"));
    put(folder / "t.csv", "path,fine,coarse\na.png,10,\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?levels=coarse,fine"); }),
                HasSubstr("t.csv:2: the coarse is empty"));
}

TEST(PerClass, TheFirstImagesOfEachOwnClassAreKept) {
    const TemporaryFolder folder;
    for (const char* name : {"a", "b", "c", "d", "e", "f"})
        put_image(folder / (std::string(name) + ".png"));
    put(folder / "t.csv",
        "path,fine,coarse\na.png,x,k\nb.png,x,k\nc.png,y,k\nd.png,x,k\ne.png,z,l\nf.png,y,k\n");
    const std::string uri = "csv:" + (folder / "t.csv").string() + "?levels=coarse,fine";
    const auto files = [](const Dataset& dataset) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < dataset.size(); ++i)
            names.push_back(dataset.file(i)->filename().string());
        return names;
    };
    EXPECT_THAT(files(*open_dataset(uri + "&per_class=1")), ElementsAre("a.png", "c.png", "e.png"));
    // By the fine classes, labelled by the coarse ones.
    const DatasetPtr coarse = open_dataset(uri + "&level=coarse&per_class=1");
    EXPECT_THAT(files(*coarse), ElementsAre("a.png", "c.png", "e.png"));
    EXPECT_THAT(labels_of(*coarse), ElementsAre(0, 0, 1));
    EXPECT_THAT(coarse->level("fine").labels, ElementsAre(0, 1, 2));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "&per_class=2"); }),
                HasSubstr("per_class: expected at least 2 images of class 'z', found 1"));
    for (const char* bad : {"0", "-1", "two", "1x"})
        EXPECT_THAT(error_of([&] { open_dataset(uri + "&per_class=" + bad); }),
                    HasSubstr("per_class: expected a whole number from 1"));
}

class Parents : public testing::Test {
protected:
    Parents() { put_class_folders(folder_ / "set", 3, 2); }
    std::string uri(const std::string& more = "") const {
        return "folder:" + (folder_ / "set").string() + "?parents=" + (folder_ / "p.csv").string() +
               more;
    }
    std::string message(const std::string& table) const {
        put(folder_ / "p.csv", table);
        return error_of([&] { open_dataset(uri()); });
    }
    const TemporaryFolder folder_;
};

TEST_F(Parents, GiveLevelsToAnyDataSet) {
    put(folder_ / "p.csv",
        "class,group,kind\nclass0,g1,all\nclass1,g0,all\nclass2,g1,all\n"
        "elsewhere,g7,all\n");
    const DatasetPtr dataset = open_dataset(uri());
    EXPECT_THAT(dataset->levels(), ElementsAre("kind", "group", "class"));  // coarsest first
    EXPECT_THAT(dataset->classes(), ElementsAre("class0", "class1", "class2"));
    const LabelLevel group = dataset->level("group");
    EXPECT_THAT(group.classes.names, ElementsAre("g0", "g1"));
    EXPECT_THAT(group.labels, ElementsAre(1, 1, 0, 0, 1, 1));
    EXPECT_THAT(dataset->level("class").labels, ElementsAre(0, 0, 1, 1, 2, 2));
    EXPECT_THAT(labels_of(*open_dataset(uri("&level=group"))), ElementsAre(1, 1, 0, 0, 1, 1));
    EXPECT_THAT(all_levels(*dataset)[0].classes.names, ElementsAre("all"));
    const DatasetPtr some = subset(dataset, {4, 0, 3});
    EXPECT_THAT(some->level("group").labels, ElementsAre(1, 1, 0));
    EXPECT_THAT(labels_of(*at_level(some, "group")), ElementsAre(1, 1, 0));
}

TEST_F(Parents, SayWhatIsMissing) {
    EXPECT_THAT(message("class,group\nclass0,a\nclass1,a\n"),
                HasSubstr("p.csv: expected a row for class 'class2'"));
    EXPECT_THAT(message("class,group\nclass0,a\nclass1,a\nclass0,b\n"),
                HasSubstr("p.csv:4: class 'class0' stands here a second time"));
    EXPECT_THAT(message("class,group\nclass0,\n"), HasSubstr("p.csv:2: the group is empty"));
    EXPECT_THAT(message("class,group\nclass0\n"), HasSubstr("expected 2 fields, found 1"));
    EXPECT_THAT(message("class\nclass0\n"), HasSubstr("such as class,group, found one column"));
    EXPECT_THAT(message(""), HasSubstr("an empty file"));
}

TEST(ParentsOfImageNet, AreBuiltIn) {
    const TemporaryFolder folder;
    // Two of the wading birds, a fish and a vehicle, by WordNet id and by name.
    for (const char* name : {"n01440764", "n02018795", "bittern", "minibus"})
        put_image(folder / name / "x.png");
    const std::string uri = "folder:" + folder.path().string() + "?parents=imagenet";
    const DatasetPtr dataset = open_dataset(uri);
    EXPECT_THAT(dataset->levels(), ElementsAre("coarse", "class"));
    EXPECT_THAT(dataset->classes(), ElementsAre("bittern", "minibus", "n01440764", "n02018795"));
    const LabelLevel coarse = dataset->level("coarse");
    EXPECT_THAT(coarse.classes.names, ElementsAre("bird", "bus", "soft-finned fish"));
    EXPECT_THAT(coarse.labels, ElementsAre(0, 1, 2, 0));
    put_image(folder / "unheard of" / "x.png");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("imagenet: expected a row for class 'unheard of'"));
}

TEST(Levels, EveryDataSetHasTheOneClass) {
    const TemporaryFolder folder;
    put_class_folders(folder / "set", 2, 2);
    const std::string uri = "folder:" + (folder / "set").string();
    for (const char* name : {"?level=∅", "?level=one"}) {
        const DatasetPtr one = open_dataset(uri + name);
        EXPECT_THAT(one->classes(), ElementsAre("∅"));
        EXPECT_THAT(labels_of(*one), ElementsAre(0, 0, 0, 0));
    }
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?level=genus"); }),
                HasSubstr("level 'genus': its images are labelled at one level only"));
    const std::vector<LabelLevel> own = all_levels(*open_dataset(uri));
    ASSERT_EQ(own.size(), 1U);
    EXPECT_EQ(own[0].name, "label");
    EXPECT_THAT(own[0].labels, ElementsAre(0, 0, 1, 1));
}

}  // namespace
}  // namespace cait::data_test
