/* What is in a photograph, from C: detect_c MODEL.safetensors PHOTO */
#include <cait/c.h>
#include <stdio.h>

int main(int argc, char** argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL.safetensors PHOTO\n", argv[0]);
        return 2;
    }
    cait_detector* detector = cait_detector_load(argv[1], 0, "fp32", 0.5);
    cait_detections* found = detector == NULL ? NULL : cait_detect_file(detector, argv[2]);
    if (found == NULL) {
        fprintf(stderr, "%s\n", cait_last_error());
        cait_detector_free(detector);
        return 1;
    }
    const cait_detection* objects = cait_detections_objects(found);
    const size_t count = cait_detections_count(found);
    printf("%zu objects\n", count);
    for (size_t i = 0; i < count; ++i)
        printf("%s %.1f %% from %.0f,%.0f to %.0f,%.0f\n", objects[i].name,
               100 * objects[i].score, objects[i].left, objects[i].top, objects[i].right,
               objects[i].bottom);
    cait_detections_free(found);
    cait_detector_free(detector);
    return 0;
}
