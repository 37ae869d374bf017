/* The engine from C, or from anything that can call C: load a model, classify, embed, segment,
 * detect, translate. Link cait::engine; for what is called cait_segment..., cait_detect... and
 * cait_translat... cait::evaluate.
 * Functions that can fail return 0, or a null pointer, and cait_last_error() says why. A classifier
 * may be used from several threads at the same time. */
#ifndef CAIT_C_H
#define CAIT_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cait_classifier cait_classifier;

typedef struct {
    size_t index;       /* of the class */
    const char* name;   /* good until the classifier is freed */
    double probability; /* softmax over all classes */
} cait_answer;

/* What went wrong in the last call of this thread; never null. Good until its next call. */
const char* cait_last_error(void);

/* A model file. threads: 0 for all processors; precision: "fp32", "bf16" or "int8". Freed by
 * cait_free().
 */
cait_classifier* cait_load(const char* file, int threads, const char* precision);
void cait_free(cait_classifier* classifier); /* null is fine */

size_t cait_class_count(const cait_classifier* classifier);
size_t cait_embedding_size(const cait_classifier* classifier);

/* Fill at most `count` answers, most likely first, and return how many; 0 is an error. Pixels are
 * interleaved RGB (channels 3) or grey (1), rows row_bytes apart; 0: no gaps. */
size_t cait_classify_file(const cait_classifier* classifier, const char* file, cait_answer* answers,
                          size_t count);
size_t cait_classify_bytes(const cait_classifier* classifier, const void* encoded, size_t size,
                           cait_answer* answers, size_t count);
size_t cait_classify_pixels(const cait_classifier* classifier, const uint8_t* pixels, int64_t width,
                            int64_t height, int64_t channels, int64_t row_bytes,
                            cait_answer* answers, size_t count);

/* Fill cait_embedding_size() floats, for which `capacity` must suffice; return how many, 0 is an
 * error. */
size_t cait_embed_file(const cait_classifier* classifier, const char* file, float* values,
                       size_t capacity);
size_t cait_embed_bytes(const cait_classifier* classifier, const void* encoded, size_t size,
                        float* values, size_t capacity);
size_t cait_embed_pixels(const cait_classifier* classifier, const uint8_t* pixels, int64_t width,
                         int64_t height, int64_t channels, int64_t row_bytes, float* values,
                         size_t capacity);

/* A class for every pixel of images of any size, by a model with a dense head. */
typedef struct cait_segmenter cait_segmenter;
typedef struct cait_segmentation cait_segmentation;

/* As cait_load(). Freed by cait_segmenter_free(). */
cait_segmenter* cait_segmenter_load(const char* file, int threads, const char* precision);
void cait_segmenter_free(cait_segmenter* segmenter); /* null is fine */

size_t cait_segmenter_class_count(const cait_segmenter* segmenter);
/* Good until the segmenter is freed; null beyond the last class. */
const char* cait_segmenter_class_name(const cait_segmenter* segmenter, size_t index);

/* Null is an error. Freed by cait_segmentation_free(), also after its segmenter. */
cait_segmentation* cait_segment_file(const cait_segmenter* segmenter, const char* file);
cait_segmentation* cait_segment_bytes(const cait_segmenter* segmenter, const void* encoded,
                                      size_t size);
cait_segmentation* cait_segment_pixels(const cait_segmenter* segmenter, const uint8_t* pixels,
                                       int64_t width, int64_t height, int64_t channels,
                                       int64_t row_bytes);
void cait_segmentation_free(cait_segmentation* segmentation); /* null is fine */

int64_t cait_segmentation_width(const cait_segmentation* segmentation);
int64_t cait_segmentation_height(const cait_segmentation* segmentation);
/* width * height indices of classes, row by row; good until the segmentation is freed. */
const uint8_t* cait_segmentation_labels(const cait_segmentation* segmentation);
/* Pixels of a class. */
uint64_t cait_segmentation_area(const cait_segmentation* segmentation, size_t index);
/* A PNG with these labels and the colours of the classes, and its bytes in *size. */
const void* cait_segmentation_png(const cait_segmentation* segmentation, size_t* size);

/* Things in images of any size, by a model with a detection head. */
typedef struct cait_detector cait_detector;
typedef struct cait_detections cait_detections;

typedef struct {
    size_t index;     /* of the class */
    const char* name; /* of the class; good until the detections are freed */
    float score;
    float left, top, right, bottom; /* in pixels of the image */
} cait_detection;

/* As cait_load(). threshold: least score of what is returned, 0.5 say. Freed by
 * cait_detector_free(). */
cait_detector* cait_detector_load(const char* file, int threads, const char* precision,
                                  double threshold);
void cait_detector_free(cait_detector* detector); /* null is fine */

size_t cait_detector_class_count(const cait_detector* detector);
/* Good until the detector is freed; null beyond the last class. */
const char* cait_detector_class_name(const cait_detector* detector, size_t index);

/* Null is an error; of an image in which nothing is found there are 0 objects. Freed by
 * cait_detections_free(), also after its detector. */
cait_detections* cait_detect_file(const cait_detector* detector, const char* file);
cait_detections* cait_detect_bytes(const cait_detector* detector, const void* encoded, size_t size);
cait_detections* cait_detect_pixels(const cait_detector* detector, const uint8_t* pixels,
                                    int64_t width, int64_t height, int64_t channels,
                                    int64_t row_bytes);
void cait_detections_free(cait_detections* detections); /* null is fine */

int64_t cait_detections_width(const cait_detections* detections); /* of the image */
int64_t cait_detections_height(const cait_detections* detections);
size_t cait_detections_count(const cait_detections* detections);
/* So many objects, the best first; good until the detections are freed. */
const cait_detection* cait_detections_objects(const cait_detections* detections);
/* width * height bytes of one object, row by row: 255 inside, 0 outside; good until the next call
 * for these detections. Null, an error, where the model has no masks. */
const uint8_t* cait_detections_mask(cait_detections* detections, size_t object);

/* Lines of text into lines of another language, by a model that translates. */
typedef struct cait_translator cait_translator;
typedef struct cait_translations cait_translations;

/* As cait_load(), but for int8. beam: hypotheses that are followed, 1 is greedy, 0 the usual 4.
 * Freed by cait_translator_free(). */
cait_translator* cait_translator_load(const char* file, int threads, const char* precision,
                                      size_t beam);
void cait_translator_free(cait_translator* translator); /* null is fine */

/* `count` lines of UTF-8. Null is an error, which names the line. Freed by
 * cait_translations_free(), also after its translator. */
cait_translations* cait_translate(const cait_translator* translator, const char* const* lines,
                                  size_t count);
void cait_translations_free(cait_translations* translations); /* null is fine */

size_t cait_translations_count(const cait_translations* translations); /* as many as lines */
/* Good until the translations are freed; null beyond the last line. */
const char* cait_translations_text(const cait_translations* translations, size_t line);
/* Mean log-probability of the pieces; 0 beyond the last line. */
double cait_translations_score(const cait_translations* translations, size_t line);

#ifdef __cplusplus
}
#endif

#endif
