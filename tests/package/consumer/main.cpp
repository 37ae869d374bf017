// Uses the installed library as its README says, so that a missing symbol shows up at the link.
// Usage: consumer IMAGE MODEL, which it writes
#include <cait/image.h>
#include <cait/model.h>

#include <filesystem>
#include <iostream>

int main(int, char** words) {
    const cait::SettingList tiny = {{"image_size", "16"}, {"patch", "8"}, {"dim", "16"},
                                    {"depth", "1"},       {"heads", "2"}, {"classes", "3"}};
    const std::filesystem::path file = words[2];
    cait::Model::create("cait_xxs24_224", tiny, 7).save(file);
    const cait::Model model = cait::Model::load(file);
    std::cout << model.info().name << " " << model.info().params << " | "
              << cait::prepare_image(model, words[1]).shape().to_string() << " | ";
    try {
        cait::Model::create("cait_xxs25_224");
    } catch (const cait::UsageError& error) {
        std::cout << error.what() << '\n';
    }
}
