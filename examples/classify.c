/* The same from C: classify_c MODEL.safetensors PHOTO */
#include <cait/c.h>
#include <stdio.h>

int main(int argc, char** argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL.safetensors PHOTO\n", argv[0]);
        return 2;
    }
    cait_classifier* classifier = cait_load(argv[1], 0, "fp32");
    if (classifier == NULL) {
        fprintf(stderr, "%s\n", cait_last_error());
        return 1;
    }
    cait_answer answers[5];
    const size_t count = cait_classify_file(classifier, argv[2], answers, 5);
    if (count == 0) fprintf(stderr, "%s\n", cait_last_error());
    for (size_t i = 0; i < count; ++i)
        printf("%s: %.1f %%\n", answers[i].name, 100 * answers[i].probability);
    cait_free(classifier);
    return count > 0 ? 0 : 1;
}
