/* SPDX-License-Identifier: Apache-2.0 */
#include "source/host/host.h"
#include "source/host/parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct host_link *find_link(struct host *h, const char *key)
{
    struct host_link *unused = NULL;
    for (size_t i = 0; i < HOST_LINKS; i++) {
        if (h->links[i].used && !strcmp(h->links[i].key, key))
            return &h->links[i];
        if (!h->links[i].used && !unused)
            unused = &h->links[i];
    }
    return unused;
}

static int announce_link(struct host *h, struct host_link *l, struct str name, int64_t mono_us,
                         struct record_queue *out)
{
    struct record r = { .kind = RECORD_ENTITY, .mono_us = mono_us };
    l->id = h->next_id++;
    l->told = true;
    r.u.entity = (struct entity){ .id = l->id,
                                  .kind = ENTITY_LINK,
                                  .parent = ENTITY_NONE,
                                  .index = -1,
                                  .key = str_from(l->key),
                                  .name = name };
    return record_queue_add(out, &r);
}

/* ---- network ---- */

/* Hundreds of virtual interfaces belong to containers; traffic that leaves the node passes one
 * that has a device. Without /sys every interface but lo counts. */
static bool is_physical(const struct host *h, struct str name)
{
    char path[160];
    if (str_is(name, "lo") || name.n > 60)
        return false;
    if (faccessat(h->root_fd, "sys/class/net", F_OK, 0) < 0)
        return true;
    snprintf(path, sizeof(path), "sys/class/net/%.*s/device", STR_ARG(name));
    return faccessat(h->root_fd, path, F_OK, 0) == 0;
}

static void gather_net_state(const struct host *h, const struct host_link *l, struct gather *g)
{
    char path[160], buf[64];
    struct str text;
    int64_t downs = 0;
    snprintf(path, sizeof(path), "%s/carrier_down_count", l->folder);
    int r = kfile_read_i64(h->root_fd, path, &downs);
    gather_result(g, METRIC_LINK_DOWNED, r, downs);
    snprintf(path, sizeof(path), "%s/operstate", l->folder);
    r = kfile_read_text(h->root_fd, path, buf, sizeof(buf), &text);
    if (r == 0 && str_is(text, "unknown"))
        gather_missing(g, METRIC_LINK_ACTIVE, OBS_UNSUPPORTED);
    else
        gather_result(g, METRIC_LINK_ACTIVE, r, r == 0 && str_is(text, "up"));
}

static int poll_net(struct host *h, const struct net_dev *d, int64_t mono_us, bool slow,
                    struct record_queue *out)
{
    char key[64];
    if (d->name.n > 48)
        return 0;
    snprintf(key, sizeof(key), "net:%.*s", STR_ARG(d->name));
    struct host_link *l = find_link(h, key);
    if (!l || h->next_id >= ENTITY_MAX)
        return 0;
    if (!l->used && (!slow || !is_physical(h, d->name)))
        return 0;
    if (!l->used) {
        *l = (struct host_link){ .used = true };
        str_copy(l->key, sizeof(l->key), str_from(key));
        snprintf(l->folder, sizeof(l->folder), "sys/class/net/%.*s", STR_ARG(d->name));
        int r = announce_link(h, l, d->name, mono_us, out);
        if (r < 0)
            return r;
    }
    struct gather g = { .n = 0 };
    gather_value(&g, METRIC_LINK_RX_BYTES, d->rx_bytes);
    gather_value(&g, METRIC_LINK_TX_BYTES, d->tx_bytes);
    if (slow) {
        gather_value(&g, METRIC_LINK_ERRORS, d->errors);
        gather_net_state(h, l, &g);
    }
    return gather_flush(&g, l->id, mono_us, out);
}

static int poll_nets(struct host *h, int64_t mono_us, bool slow, struct record_queue *out)
{
    size_t n = 0;
    int r = kfile_read(h->root_fd, "proc/net/dev", h->text, HOST_TEXT_BYTES, &n);
    if (r < 0 && r != -EMSGSIZE)
        return 0;
    struct str rest = { h->text, n };
    struct net_dev d;
    while ((r = net_dev_next(&rest, &d)) != 0)
        if (r > 0 && (r = poll_net(h, &d, mono_us, slow, out)) < 0)
            return r;
    return 0;
}

/* ---- InfiniBand ---- */

static int64_t sum_counters(const struct host *h, const struct host_link *l, int *ret_result)
{
    static const char *const files[] = { "symbol_error", "port_rcv_errors" };
    int64_t sum = 0;
    *ret_result = -ENOENT;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        char path[160];
        int64_t v = 0;
        snprintf(path, sizeof(path), "%s/counters/%s", l->folder, files[i]);
        int r = kfile_read_i64(h->root_fd, path, &v);
        if (r == 0 && (v < 0 || __builtin_add_overflow(sum, v, &sum)))
            r = -ERANGE;
        if (r == 0 || *ret_result < 0)
            *ret_result = r;
    }
    return sum;
}

static void gather_ib_bytes(const struct host *h, const struct host_link *l, const char *file,
                            enum metric m, struct gather *g)
{
    char path[160];
    int64_t words = 0, bytes = 0;
    snprintf(path, sizeof(path), "%s/counters/%s", l->folder, file);
    int r = kfile_read_i64(h->root_fd, path, &words);
    /* Counted in units of four bytes. */
    if (r == 0 && (words < 0 || __builtin_mul_overflow(words, 4, &bytes)))
        r = -ERANGE;
    gather_result(g, m, r, bytes);
}

static void gather_ib_state(const struct host *h, const struct host_link *l, struct gather *g)
{
    char path[160], buf[64];
    struct str text;
    int r;
    int64_t v = sum_counters(h, l, &r);
    gather_result(g, METRIC_LINK_ERRORS, r, v);
    snprintf(path, sizeof(path), "%s/counters/link_downed", l->folder);
    r = kfile_read_i64(h->root_fd, path, &v);
    gather_result(g, METRIC_LINK_DOWNED, r, v);
    snprintf(path, sizeof(path), "%s/state", l->folder);
    r = kfile_read_text(h->root_fd, path, buf, sizeof(buf), &text); /* "4: ACTIVE" */
    gather_result(g, METRIC_LINK_ACTIVE, r, r == 0 && str_ends(text, "ACTIVE"));
}

static int poll_ib_port(struct host *h, struct host_link *l, int64_t mono_us, bool slow,
                        struct record_queue *out)
{
    struct gather g = { .n = 0 };
    gather_ib_bytes(h, l, "port_rcv_data", METRIC_LINK_RX_BYTES, &g);
    gather_ib_bytes(h, l, "port_xmit_data", METRIC_LINK_TX_BYTES, &g);
    if (slow)
        gather_ib_state(h, l, &g);
    return gather_flush(&g, l->id, mono_us, out);
}

static int add_port(struct host *h, const char *device, const char *port, int64_t mono_us,
                    struct record_queue *out)
{
    char key[64], path[160], layer[32] = "", rate[48] = "", name[96];
    struct str text;
    if (strlen(device) > 40 || strlen(port) > 8 || h->next_id >= ENTITY_MAX)
        return 0;
    snprintf(key, sizeof(key), "%s/%s", device, port);
    struct host_link *l = find_link(h, key);
    if (!l || l->used)
        return 0;
    *l = (struct host_link){ .used = true, .infiniband = true };
    str_copy(l->key, sizeof(l->key), str_from(key));
    snprintf(l->folder, sizeof(l->folder), "sys/class/infiniband/%.40s/ports/%.8s", device, port);
    char buf[64];
    snprintf(path, sizeof(path), "%s/link_layer", l->folder);
    if (kfile_read_text(h->root_fd, path, buf, sizeof(buf), &text) == 0)
        str_copy(layer, sizeof(layer), text);
    snprintf(path, sizeof(path), "%s/rate", l->folder);
    if (kfile_read_text(h->root_fd, path, buf, sizeof(buf), &text) == 0)
        str_copy(rate, sizeof(rate), text);
    snprintf(name, sizeof(name), "%s%s%s", layer, *layer && *rate ? " " : "", rate);
    return announce_link(h, l, str_from(name), mono_us, out);
}

static DIR *open_dir(int dir_fd, const char *path)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

static int scan_ports(struct host *h, const char *device, int64_t mono_us, struct record_queue *out)
{
    char path[160];
    int r = 0;
    snprintf(path, sizeof(path), "sys/class/infiniband/%.60s/ports", device);
    DIR *dir = open_dir(h->root_fd, path);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && r == 0; e = readdir(dir))
        if (e->d_name[0] != '.')
            r = add_port(h, device, e->d_name, mono_us, out);
    if (dir)
        closedir(dir);
    return r;
}

static int scan_infiniband(struct host *h, int64_t mono_us, struct record_queue *out)
{
    int r = 0;
    DIR *dir = open_dir(h->root_fd, "sys/class/infiniband");
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && r == 0; e = readdir(dir))
        if (e->d_name[0] != '.')
            r = scan_ports(h, e->d_name, mono_us, out);
    if (dir)
        closedir(dir);
    return r;
}

int host_poll_links(struct host *h, int64_t mono_us, bool slow, bool rare, struct record_queue *out)
{
    int r = rare ? scan_infiniband(h, mono_us, out) : 0;
    for (size_t i = 0; i < HOST_LINKS && r == 0; i++)
        if (h->links[i].used && h->links[i].infiniband)
            r = poll_ib_port(h, &h->links[i], mono_us, slow, out);
    return r < 0 ? r : poll_nets(h, mono_us, slow, out);
}
