// The table of published weights: a row per file. The addresses were taken from the code and pages
// of their publishers in November 2026; presets without a row have no published weights that we
// know.
#include "weights/published/published_weights.h"

namespace cait {

namespace {

using enum Publisher;

constexpr PublishedWeights kTable[] = {
    // CaiT: trained with a convnet teacher.
    {"cait_xxs24_224", "", deit, "XXS24_224.pth"},
    {"cait_xxs24_384", "", deit, "XXS24_384.pth"},
    {"cait_xxs36_224", "", deit, "XXS36_224.pth"},
    {"cait_xxs36_384", "", deit, "XXS36_384.pth"},
    {"cait_xs24_384", "", deit, "XS24_384.pth"},
    {"cait_s24_224", "", deit, "S24_224.pth"},
    {"cait_s24_384", "", deit, "S24_384.pth"},
    {"cait_s36_384", "", deit, "S36_384.pth"},
    {"cait_m36_384", "", deit, "M36_384.pth"},
    {"cait_m48_448", "", deit, "M48_448.pth"},
    // DeiT
    {"deit_tiny_patch16_224", "", deit, "deit_tiny_patch16_224-a1311bcf.pth"},
    {"deit_small_patch16_224", "", deit, "deit_small_patch16_224-cd65a155.pth"},
    {"deit_base_patch16_224", "", deit, "deit_base_patch16_224-b5f2ef4d.pth"},
    {"deit_base_patch16_384", "", deit, "deit_base_patch16_384-8de9b5d1.pth"},
    {"deit_tiny_distilled_patch16_224", "", deit, "deit_tiny_distilled_patch16_224-b40b3cf7.pth"},
    {"deit_small_distilled_patch16_224", "", deit, "deit_small_distilled_patch16_224-649709d9.pth"},
    {"deit_base_distilled_patch16_224", "", deit, "deit_base_distilled_patch16_224-df68dfff.pth"},
    {"deit_base_distilled_patch16_384", "", deit, "deit_base_distilled_patch16_384-d0272ac0.pth"},
    // DeiT III: ImageNet-1k alone; 21k: first on ImageNet-21k.
    {"deit3_small_patch16_224", "", deit, "deit_3_small_224_1k.pth"},
    {"deit3_small_patch16_224", "21k", deit, "deit_3_small_224_21k.pth"},
    {"deit3_small_patch16_384", "", deit, "deit_3_small_384_1k.pth"},
    {"deit3_small_patch16_384", "21k", deit, "deit_3_small_384_21k.pth"},
    {"deit3_medium_patch16_224", "", deit, "deit_3_medium_224_1k.pth"},
    {"deit3_medium_patch16_224", "21k", deit, "deit_3_medium_224_21k.pth"},
    {"deit3_base_patch16_224", "", deit, "deit_3_base_224_1k.pth"},
    {"deit3_base_patch16_224", "21k", deit, "deit_3_base_224_21k.pth"},
    {"deit3_base_patch16_384", "", deit, "deit_3_base_384_1k.pth"},
    {"deit3_base_patch16_384", "21k", deit, "deit_3_base_384_21k.pth"},
    {"deit3_large_patch16_224", "", deit, "deit_3_large_224_1k.pth"},
    {"deit3_large_patch16_224", "21k", deit, "deit_3_large_224_21k.pth"},
    {"deit3_large_patch16_384", "", deit, "deit_3_large_384_1k.pth"},
    {"deit3_large_patch16_384", "21k", deit, "deit_3_large_384_21k.pth"},
    {"deit3_huge_patch14_224", "", deit, "deit_3_huge_224_1k.pth"},
    {"deit3_huge_patch14_224", "21k", deit, "deit_3_huge_224_21k_v1.pth"},
    // DINOv2: backbones without a head.
    {"vit_small_patch14_dinov2", "", dinov2, "dinov2_vits14_pretrain.pth"},
    {"vit_base_patch14_dinov2", "", dinov2, "dinov2_vitb14_pretrain.pth"},
    {"vit_large_patch14_dinov2", "", dinov2, "dinov2_vitl14_pretrain.pth"},
    {"vit_giant_patch14_dinov2", "", dinov2, "dinov2_vitg14_pretrain.pth"},
    {"vit_small_patch14_reg4_dinov2", "", dinov2, "dinov2_vits14_reg4_pretrain.pth"},
    {"vit_base_patch14_reg4_dinov2", "", dinov2, "dinov2_vitb14_reg4_pretrain.pth"},
    {"vit_large_patch14_reg4_dinov2", "", dinov2, "dinov2_vitl14_reg4_pretrain.pth"},
    {"vit_giant_patch14_reg4_dinov2", "", dinov2, "dinov2_vitg14_reg4_pretrain.pth"},
    // ResMLP: on labels alone; dist: with a convnet teacher; 22k: first on ImageNet-22k.
    {"resmlp_12_224", "", deit, "resmlp_12_no_dist.pth"},
    {"resmlp_12_224", "dist", deit, "resmlp_12_dist.pth"},
    {"resmlp_24_224", "", deit, "resmlp_24_no_dist.pth"},
    {"resmlp_24_224", "dist", deit, "resmlp_24_dist.pth"},
    {"resmlp_36_224", "", deit, "resmlp_36_no_dist.pth"},
    {"resmlp_36_224", "dist", deit, "resmlp_36_dist.pth"},
    {"resmlp_big_24_224", "", deit, "resmlpB_24_no_dist.pth"},
    {"resmlp_big_24_224", "dist", deit, "resmlpB_24_dist.pth"},
    {"resmlp_big_24_224", "22k", deit, "resmlpB_24_22k.pth"},
    // PatchConvNet
    {"patchconvnet_s60", "", deit, "s60_224_1k.pth"},
    {"patchconvnet_s60", "21k", deit, "s60_224_21k.pth"},
    {"patchconvnet_s60", "21k_384", deit, "s60_384_21k.pth", "made for --set model.image_size=384"},
    {"patchconvnet_s60", "21k_512", deit, "s60_512_21k.pth", "made for --set model.image_size=512"},
    {"patchconvnet_s120", "", deit, "s120_224_1k.pth"},
    {"patchconvnet_b60", "", deit, "b60_224_1k.pth"},
    {"patchconvnet_b60", "21k", deit, "b60_224_21k.pth"},
    {"patchconvnet_b60", "21k_384", deit, "b60_384_21k.pth", "made for --set model.image_size=384"},
    {"patchconvnet_b120", "", deit, "b120_224_1k.pth"},
    {"patchconvnet_b120", "21k", deit, "b120_224_21k.pth"},
    {"patchconvnet_b120", "21k_384", deit, "b120_384_21k.pth",
     "made for --set model.image_size=384"},
    {"patchconvnet_s60_multi", "", deit, "s60_multi_finetune_1k.pth"},
    {"patchconvnet_s60_multi", "scratch", deit, "s60_multi_scratch_1k.pth"},
    // VOLO
    {"volo_d1_224", "", volo, "d1_224_84.2.pth.tar"},
    {"volo_d1_384", "", volo, "d1_384_85.2.pth.tar"},
    {"volo_d2_224", "", volo, "d2_224_85.2.pth.tar"},
    {"volo_d2_384", "", volo, "d2_384_86.0.pth.tar"},
    {"volo_d3_224", "", volo, "d3_224_85.4.pth.tar"},
    {"volo_d3_448", "", volo, "d3_448_86.3.pth.tar"},
    {"volo_d4_224", "", volo, "d4_224_85.7.pth.tar"},
    {"volo_d4_448", "", volo, "d4_448_86.79.pth.tar"},
    {"volo_d5_224", "", volo, "d5_224_86.10.pth.tar"},
    {"volo_d5_448", "", volo, "d5_448_87.0.pth.tar"},
    {"volo_d5_512", "", volo, "d5_512_87.07.pth.tar"},
    // ViT: ImageNet-21k, then 1k, as timm has them by default; 1k: ImageNet-1k alone.
    {"vit_tiny_patch16_224", "", timm_hub, "vit_tiny_patch16_224.augreg_in21k_ft_in1k"},
    {"vit_tiny_patch16_384", "", timm_hub, "vit_tiny_patch16_384.augreg_in21k_ft_in1k"},
    {"vit_small_patch32_224", "", timm_hub, "vit_small_patch32_224.augreg_in21k_ft_in1k"},
    {"vit_small_patch32_384", "", timm_hub, "vit_small_patch32_384.augreg_in21k_ft_in1k"},
    {"vit_small_patch16_224", "", timm_hub, "vit_small_patch16_224.augreg_in21k_ft_in1k"},
    {"vit_small_patch16_224", "1k", timm_hub, "vit_small_patch16_224.augreg_in1k"},
    {"vit_small_patch16_384", "", timm_hub, "vit_small_patch16_384.augreg_in21k_ft_in1k"},
    {"vit_small_patch16_384", "1k", timm_hub, "vit_small_patch16_384.augreg_in1k"},
    {"vit_base_patch32_224", "", timm_hub, "vit_base_patch32_224.augreg_in21k_ft_in1k"},
    {"vit_base_patch32_224", "1k", timm_hub, "vit_base_patch32_224.augreg_in1k"},
    {"vit_base_patch32_384", "", timm_hub, "vit_base_patch32_384.augreg_in21k_ft_in1k"},
    {"vit_base_patch32_384", "1k", timm_hub, "vit_base_patch32_384.augreg_in1k"},
    {"vit_base_patch16_224", "", timm_hub, "vit_base_patch16_224.augreg2_in21k_ft_in1k"},
    {"vit_base_patch16_224", "1k", timm_hub, "vit_base_patch16_224.augreg_in1k"},
    {"vit_base_patch16_384", "", timm_hub, "vit_base_patch16_384.augreg_in21k_ft_in1k"},
    {"vit_base_patch16_384", "1k", timm_hub, "vit_base_patch16_384.augreg_in1k"},
    {"vit_base_patch8_224", "", timm_hub, "vit_base_patch8_224.augreg2_in21k_ft_in1k"},
    {"vit_large_patch16_224", "", timm_hub, "vit_large_patch16_224.augreg_in21k_ft_in1k"},
    {"vit_large_patch16_384", "", timm_hub, "vit_large_patch16_384.augreg_in21k_ft_in1k"},
    {"vit_large_patch32_384", "", timm_hub, "vit_large_patch32_384.orig_in21k_ft_in1k"},
    // The convnets: ResNet-18 and -34 by the original recipe, deeper ones by that of "ResNet
    // strikes
    // back"; RegNetY-16GF is the teacher of DeiT and CaiT.
    {"resnet18", "", timm_hub, "resnet18.tv_in1k"},
    {"resnet34", "", timm_hub, "resnet34.tv_in1k"},
    {"resnet18", "a1", timm_rsb, "resnet18_a1_0-d63eafa0.pth", "made for a crop ratio of 0.95"},
    {"resnet34", "a1", timm_rsb, "resnet34_a1_0-46f8f793.pth", "made for a crop ratio of 0.95"},
    {"resnet50", "", timm_rsb, "resnet50_a1_0-14fe96d1.pth"},
    {"resnet101", "", timm_rsb, "resnet101_a1_0-cdcb52a9.pth"},
    {"resnet152", "", timm_rsb, "resnet152_a1_0-2eee8a7a.pth"},
    {"maskrcnn_resnet50_fpn", "", torchvision, "maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth"},
    {"resnet50d", "", timm_hub, "resnet50d.ra2_in1k"},
    {"resnext50_32x4d", "", timm_hub, "resnext50_32x4d.tv_in1k"},
    {"resnext50d_32x4d", "", timm_hub, "resnext50d_32x4d.bt_in1k"},
    {"regnety_040", "", timm_tpu, "regnety_040_ra3-670e1166.pth", "made for a crop ratio of 0.95"},
    {"regnety_080", "", timm_tpu, "regnety_080_ra3-1fdc4344.pth", "made for a crop ratio of 0.95"},
    {"regnety_080_tv", "", timm_hub, "regnety_080_tv.tv2_in1k", "made for a crop ratio of 0.965"},
    {"regnety_120", "", timm_hub, "regnety_120.pycls_in1k"},
    {"regnety_160", "", deit, "regnety_160-a5fe301d.pth"},
    // No direct address: the page has a link for people. Save what it gives under this name.
    {"ceit_tiny_patch16_224", "", ceit_page, "ceit_tiny_patch16_224.pth"},
    {"ceit_tiny_patch16_384", "", ceit_page, "ceit_tiny_patch16_384.pth"},
    {"ceit_small_patch16_224", "", ceit_page, "ceit_small_patch16_224.pth"},
    {"ceit_small_patch16_384", "", ceit_page, "ceit_small_patch16_384.pth"},
    {"ceit_base_patch16_224", "", ceit_page, "ceit_base_patch16_224.pth"},
    {"deepvit_24b", "", deepvit_page, "deepvit_24b.pth"},
    {"deepvit_32b", "", deepvit_page, "deepvit_32b.pth"},
    {"deepvit_s", "", deepvit_page, "deepvit_s.pth"},
    {"deepvit_l", "", deepvit_page, "deepvit_l.pth"},
};

}  // namespace

std::span<const PublishedWeights> published_weights() { return kTable; }

}  // namespace cait
