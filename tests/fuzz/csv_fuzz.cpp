// Any text may be refused with cait::Error; everything else that escapes is a finding. Fields that
// are written again must come back. The labels of the data set that a table is must be classes of
// it, and so they must with the text itself as the list of classes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "as_file.h"
#include "cait/error.h"
#include "data/formats/csv_reader.h"
#include "data/open_dataset.h"

namespace {

void check_labels(const cait::Dataset& dataset) {
    for (std::size_t i = 0; i < dataset.size(); ++i)
        if (dataset.classes().size() <= std::size_t(dataset.label(i))) std::abort();
}

void open_table(const std::filesystem::path& file) {
    try {
        const cait::DatasetPtr dataset = cait::open_dataset("csv:" + file.string());
        check_labels(*dataset);
        check_labels(*cait::with_classes(dataset, cait::read_class_file(file)));
    } catch (const cait::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        cait::CsvReader reader({reinterpret_cast<const char*>(data), size}, "input");
        for (std::vector<std::string> fields; reader.next(fields);) {
            // Not the first row: there a byte order mark would be no part of the field.
            std::string text = "header\n" + cait::csv_field(fields.front());
            for (std::size_t i = 1; i < fields.size(); ++i)
                text += "," + cait::csv_field(fields[i]);
            if (fields.size() == 1 && fields.front().empty()) continue;  // a blank row is none
            std::vector<std::string> again;
            cait::CsvReader written(text, "again");
            if (!written.next(again) || !written.next(again) || again != fields) std::abort();
        }
    } catch (const cait::Error&) {
    }
    const cait::AsFile file(data, size);
    open_table(file.path());
    return 0;
}
