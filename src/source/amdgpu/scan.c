/* SPDX-License-Identifier: Apache-2.0 */
#include "source/amdgpu/amdgpu.h"

#include "base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void amdgpu_card_done(struct amdgpu_card *card)
{
    if (card->fd >= 0)
        close(card->fd);
    card->fd = -1;
}

/* "card7" but not the connectors "card7-DP-1". */
static bool is_card(const char *name)
{
    uint32_t n;
    struct str s = str_from(name);
    return str_starts(s, "card") && parse_u32(str_sub(s, 4, s.n), &n) == 0;
}

static bool uevent_value(struct str text, const char *key, struct str *ret)
{
    struct str line;
    while (str_split(&text, '\n', &line))
        if (str_starts(line, key) && line.n > strlen(key) && line.p[strlen(key)] == '=') {
            *ret = str_trim(str_sub(line, strlen(key) + 1, line.n));
            return true;
        }
    return false;
}

static void find_hwmon(struct amdgpu_card *card)
{
    int fd = openat(card->fd, "hwmon", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (!strncmp(e->d_name, "hwmon", 5) && strlen(e->d_name) < 20) {
            snprintf(card->hwmon, sizeof(card->hwmon), "hwmon/%.19s/", e->d_name);
            break;
        }
    closedir(dir);
}

static void read_identity(struct amdgpu_card *card, struct str pci_id)
{
    char buf[128];
    struct str text;
    uint64_t id;
    if (kfile_read_text(card->fd, "unique_id", buf, sizeof(buf), &text) == 0 &&
        parse_hex_u64(text, &id) == 0 && id)
        str_copy(card->key, sizeof(card->key), text);
    else
        str_copy(card->key, sizeof(card->key), str_from(card->bus));
    if (kfile_read_text(card->fd, "product_name", buf, sizeof(buf), &text) == 0 && text.n)
        str_copy(card->name, sizeof(card->name), text);
    else
        snprintf(card->name, sizeof(card->name), "AMD GPU %.*s", (int) MIN(pci_id.n, (size_t) 16),
                 pci_id.p ? pci_id.p : "");
}

/* 1 and the card, 0 when it is none of ours. */
static int open_card(int drm_fd, const char *name, struct amdgpu_card *ret)
{
    char path[300], buf[1024];
    struct str text, driver, bus, pci_id = { NULL, 0 };
    snprintf(path, sizeof(path), "%s/device", name);
    struct amdgpu_card card = { .fd = openat(drm_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (card.fd < 0)
        return 0;
    if (kfile_read_text(card.fd, "uevent", buf, sizeof(buf), &text) < 0 ||
        !uevent_value(text, "DRIVER", &driver) || !str_is(driver, "amdgpu") ||
        !uevent_value(text, "PCI_SLOT_NAME", &bus) || !bus.n) {
        amdgpu_card_done(&card);
        return 0;
    }
    uevent_value(text, "PCI_ID", &pci_id);
    str_copy(card.bus, sizeof(card.bus), bus);
    find_hwmon(&card);
    read_identity(&card, pci_id);
    *ret = card;
    return 1;
}

static int by_bus(const void *a, const void *b)
{
    return strcmp(((const struct amdgpu_card *) a)->bus, ((const struct amdgpu_card *) b)->bus);
}

/* Two dies that tell the same unique_id are told apart by their address. */
static void make_keys_unique(struct amdgpu_card *cards, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (!strcmp(cards[i].key, cards[k].key)) {
                str_copy(cards[i].key, sizeof(cards[i].key), str_from(cards[i].bus));
                str_copy(cards[k].key, sizeof(cards[k].key), str_from(cards[k].bus));
            }
}

int amdgpu_scan(int root_fd, struct amdgpu_card *ret_cards, size_t cap, size_t *ret_n,
                struct err *err)
{
    int fd = openat(root_fd, "sys/class/drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "open '/sys/class/drm'");
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return err_sys(err, ENOMEM, "list '/sys/class/drm'");
    }
    size_t n = 0;
    for (struct dirent *e = readdir(dir); e && n < cap; e = readdir(dir))
        if (is_card(e->d_name) && open_card(fd, e->d_name, &ret_cards[n]))
            n++;
    closedir(dir);
    qsort(ret_cards, n, sizeof(*ret_cards), by_bus);
    make_keys_unique(ret_cards, n);
    *ret_n = n;
    return 0;
}

/* "0: 132Mhz *", also "S: 19Mhz *" for deep sleep. */
static int clock_level(struct str line, int64_t *ret_mhz, bool *ret_marked)
{
    struct str word, label;
    if (!str_word(&line, &label) || !str_ends(label, ":") || !str_word(&line, &word))
        return -EINVAL;
    if (!str_ends(word, "Mhz") && !str_ends(word, "MHz"))
        return -EINVAL;
    int r = parse_i64(str_sub(word, 0, word.n - 3), ret_mhz);
    *ret_marked = str_word(&line, &word) && str_is(word, "*");
    return r;
}

int amdgpu_clock_levels(struct str text, int64_t *ret_now_mhz, int64_t *ret_max_mhz)
{
    int64_t now = -1, max = -1;
    struct str line;
    while (str_split(&text, '\n', &line)) {
        int64_t mhz;
        bool marked;
        line = str_trim(line);
        if (!line.n)
            continue;
        int r = clock_level(line, &mhz, &marked);
        if (r < 0)
            return r;
        max = MAX(max, mhz);
        if (marked)
            now = mhz;
    }
    if (max < 0 || (ret_now_mhz && now < 0))
        return -ENODATA;
    if (ret_now_mhz)
        *ret_now_mhz = now;
    if (ret_max_mhz)
        *ret_max_mhz = max;
    return 0;
}
