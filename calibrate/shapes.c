/* What a calibration measures on a CPU. Sizes are odd on purpose: the fit must predict configurations that it does not
 * contain. */
#include "calibrate/calibration.h"

/* name, layers, width, heads, vocabulary, positions, sequence, micro-batch, accumulation, ZeRO stage, dropout, quick,
 * type, flash attention, then for the Llama family key/value heads and inner width, and what is offloaded: nothing
 * here. Every kind of op occurs in every type with several widths; names begin with the type. */
static const struct sl_calibration_model models[] = {
    {"s88", 3, 88, 4, 301, 150, 75, 3, 1, 1, false, true, SL_F32, false, 0, 0, NULL, NULL},
    {"s116", 4, 116, 4, 253, 150, 139, 6, 1, 0, false, false, SL_F32, false, 0, 0, NULL, NULL},
    {"s152", 4, 152, 4, 270, 220, 206, 5, 1, 2, false, false, SL_F32, false, 0, 0, NULL, NULL},
    {"s200", 3, 200, 5, 611, 150, 150, 4, 1, 0, false, true, SL_F32, false, 0, 0, NULL, NULL},
    {"s248", 3, 248, 4, 389, 280, 265, 3, 1, 1, false, false, SL_F32, true, 0, 0, NULL, NULL},
    {"s312", 4, 312, 8, 263, 290, 270, 3, 1, 3, false, false, SL_F32, false, 0, 0, NULL, NULL},
    {"s330", 2, 330, 6, 2003, 210, 210, 3, 2, 2, true, true, SL_F32, true, 0, 0, NULL, NULL},
    {"s450", 3, 450, 9, 5003, 190, 190, 2, 1, 3, false, false, SL_F32, false, 0, 0, NULL, NULL},
    {"s520", 2, 520, 8, 9001, 230, 230, 2, 1, 0, true, false, SL_F32, true, 0, 0, NULL, NULL},
    {"s696", 2, 696, 12, 20011, 170, 170, 3, 1, 2, true, false, SL_F32, false, 0, 0, NULL, NULL},
    {"b104", 3, 104, 4, 290, 150, 135, 5, 1, 1, false, true, SL_BF16, false, 0, 0, NULL, NULL},
    {"b236", 2, 236, 4, 509, 250, 245, 3, 1, 2, false, true, SL_BF16, true, 0, 0, NULL, NULL},
    {"b350", 2, 350, 7, 1009, 190, 175, 2, 2, 0, true, false, SL_BF16, false, 0, 0, NULL, NULL},
    {"b456", 1, 456, 8, 4001, 210, 210, 2, 1, 3, false, false, SL_BF16, false, 0, 0, NULL, NULL},
    {"b710", 1, 710, 10, 12007, 150, 150, 2, 1, 0, true, false, SL_BF16, false, 0, 0, NULL, NULL},
    {"h92", 3, 92, 4, 277, 150, 145, 4, 1, 0, false, true, SL_F16, false, 0, 0, NULL, NULL},
    {"h220", 2, 220, 4, 457, 270, 260, 3, 1, 2, false, true, SL_F16, true, 0, 0, NULL, NULL},
    {"h342", 2, 342, 6, 1511, 180, 165, 3, 2, 1, true, false, SL_F16, false, 0, 0, NULL, NULL},
    {"h468", 1, 468, 9, 5009, 210, 195, 2, 1, 3, false, false, SL_F16, false, 0, 0, NULL, NULL},
    {"h690", 1, 690, 10, 11003, 150, 145, 2, 1, 0, true, false, SL_F16, false, 0, 0, NULL, NULL},
    {"sl132", 2, 132, 6, 331, 150, 130, 4, 1, 1, false, true, SL_F32, false, 2, 370, NULL, NULL},
    {"sl280", 2, 280, 7, 1301, 220, 215, 2, 1, 3, false, false, SL_F32, true, 1, 750, NULL, NULL},
    {"sl504", 1, 504, 9, 4507, 170, 170, 2, 2, 0, false, false, SL_F32, false, 3, 1370, NULL, NULL},
    {"bl144", 2, 144, 4, 347, 150, 140, 4, 1, 2, false, true, SL_BF16, true, 2, 400, NULL, NULL},
    {"bl420", 1, 420, 10, 2503, 190, 180, 2, 2, 0, false, false, SL_BF16, false, 5, 1130, NULL, NULL},
    {"hl168", 2, 168, 6, 359, 150, 150, 3, 1, 1, false, true, SL_F16, true, 3, 450, NULL, NULL},
    {"hl400", 1, 400, 8, 2203, 190, 185, 2, 2, 0, false, false, SL_F16, false, 4, 1090, NULL, NULL}};
static const struct sl_calibration_product products[] = {
    {21, 29, 37, true},       {53, 71, 45, false},      {75, 264, 88, true},      {88, 75, 264, false},
    {150, 90, 30, false},     {101, 203, 307, true},    {307, 101, 203, false},   {190, 210, 45, false},
    {450, 200, 200, true},    {200, 600, 450, false},   {450, 800, 200, false},   {450, 200, 800, true},
    {30, 900, 700, true},     {700, 900, 30, true},     {900, 30, 700, false},    {610, 610, 610, true},
    {333, 696, 2088, false},  {2088, 696, 333, true},   {333, 2784, 696, false},  {190, 1560, 520, true},
    {1040, 520, 190, false},  {1300, 1310, 330, false}, {1030, 1050, 1070, true}, {610, 9001, 200, false},
    {9001, 200, 610, false},  {200, 9001, 610, false},  {230, 520, 9001, true},   {700, 20011, 300, false},
    {20011, 300, 700, false}, {300, 700, 20011, false}, {2100, 1900, 1500, false}};
static const int64_t attentions[][4] = {
    {2, 75, 4, 22}, {1, 190, 6, 50}, {2, 150, 5, 40}, {1, 330, 4, 58}, {1, 700, 3, 72}};
static const int64_t rows[][2] = {{75, 352}, {190, 450}, {450, 800}, {610, 1590}, {700, 3100}, {1700, 3500}};
static const int64_t lengths[] = {3000, 30000, 170000, 900000, 3100000, 9000000};

const struct sl_calibration_grid sl_calibration_host = {
    .cluster = "localhost", SL_CALIBRATION_TABLES, .window_bytes = (int64_t)192 << 20, .types = 1};
