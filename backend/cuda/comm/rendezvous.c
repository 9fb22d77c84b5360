/* TCP connections between the ranks; see comm/rendezvous.h. A frame is a header followed by its bytes. In an exchange,
 * rank 0 reads one frame from every rank, in rank order, and then sends all of them to each. Rank 0 also announces that
 * the job has ended, because every rank is connected to it. */
#include "backend/cuda/comm/rendezvous.h"
#include "core/base/machine.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAGIC = 0x736c6162, TEXT = 512 };
enum frame_kind { FRAME_HELLO = 1, FRAME_DATA, FRAME_ABORT };

struct frame {
  uint32_t magic, kind, rank, bytes;
};

/* --- send and receive bytes until `deadline` --- */

/* Returns 1 if ready, 0 if the deadline has passed or poll failed. */
static int wait_ready(int fd, short events, double deadline) {
  static const double most_s = 60; /* of one poll, which counts milliseconds in an int */
  for (;;) {
    const double left = deadline - sl_machine_clock();
    struct pollfd p = {.fd = fd, .events = events};
    const int n = poll(&p, 1, left > 0 ? (int)(fmin(left, most_s) * 1000) + 1 : 0);
    if (n > 0) return 1;
    if (n == 0 && left <= 0) return 0;
    if (n < 0 && errno != EINTR) return 0;
  }
}

enum moved { MOVED, GONE, LATE };

static enum moved receive(int fd, void *out, size_t bytes, double deadline) {
  for (size_t done = 0; done < bytes;) {
    if (!wait_ready(fd, POLLIN, deadline)) return LATE;
    const ssize_t n = recv(fd, (char *)out + done, bytes - done, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return GONE;
    if (n > 0) done += (size_t)n;
  }
  return MOVED;
}

static enum moved transmit(int fd, const void *in, size_t bytes, double deadline) {
  for (size_t done = 0; done < bytes;) {
    if (!wait_ready(fd, POLLOUT, deadline)) return LATE;
    const ssize_t n = send(fd, (const char *)in + done, bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return GONE;
    if (n > 0) done += (size_t)n;
  }
  return MOVED;
}

static enum moved send_frame(int fd, enum frame_kind kind, int rank, const void *in, size_t bytes, double deadline) {
  const struct frame head = {MAGIC, (uint32_t)kind, (uint32_t)rank, (uint32_t)bytes};
  const enum moved sent = transmit(fd, &head, sizeof head, deadline);
  return sent == MOVED ? transmit(fd, in, bytes, deadline) : sent;
}

/* Reads the text of an ABORT frame, which says which rank ended the job and why. The frame's header has been read. */
static enum sl_status aborted(int fd, const struct frame *head, double deadline) {
  char text[TEXT] = "";
  const size_t bytes = head->bytes < TEXT ? head->bytes : TEXT - 1;
  receive(fd, text, bytes, deadline);
  return sl_fail(SL_ERR_PEER, "rank %u ended the job: %s", head->rank, text);
}

static enum sl_status lost(const struct sl_star *star, int rank, enum moved how) {
  if (how == GONE) return sl_fail(SL_ERR_PEER, "rank %d is gone: its connection to rank %d ended", rank, star->rank);
  return sl_fail(SL_ERR_PEER, "rank %d did not answer for %g s (SHARDLAB_TIMEOUT_S sets the limit)", rank,
                 star->timeout_s);
}

static enum sl_status read_frame(const struct sl_star *star, int fd, int rank, void *out, size_t bytes,
                                 double deadline) {
  struct frame head;
  enum moved how = receive(fd, &head, sizeof head, deadline);
  if (how != MOVED) return lost(star, rank, how);
  if (head.magic == MAGIC && head.kind == FRAME_ABORT) return aborted(fd, &head, deadline);
  if (head.magic != MAGIC || head.kind != FRAME_DATA || head.bytes != bytes)
    return sl_fail(SL_ERR_PEER, "rank %d sent %u bytes where %zu were expected: it runs another program", rank,
                   head.bytes, bytes);
  how = receive(fd, out, bytes, deadline);
  return how == MOVED ? SL_OK : lost(star, rank, how);
}

static enum sl_status write_frame(const struct sl_star *star, int fd, int rank, const void *in, size_t bytes,
                                  double deadline) {
  const enum moved how = send_frame(fd, FRAME_DATA, star->rank, in, bytes, deadline);
  return how == MOVED ? SL_OK : lost(star, rank, how);
}

/* --- rendezvous --- */

struct hello {
  uint32_t rank, world;
};

static void tune(int fd) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes); /* a host that vanishes sends no message */
}

/* With `host` NULL: any address of this machine. Returns what getaddrinfo does. */
static int look_up(const char *host, int family, int port, struct addrinfo **out) {
  char service[16];
  const struct addrinfo hints = {
      .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = host == NULL ? AI_PASSIVE : 0};
  snprintf(service, sizeof service, "%d", port);
  return getaddrinfo(host, service, &hints, out);
}

static enum sl_status unknown_host(const char *host, int code) {
  return sl_fail(SL_ERR_INPUT, "the meeting point %s: %s; MASTER_ADDR names it", host ? host : "(any address)",
                 gai_strerror(code));
}

/* Returns a listening socket, or -1 with errno set. */
static int listen_on(const struct addrinfo *at, int world) {
  const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1, no = 0;
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (at->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, world) == 0) return fd;
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

/* If some ranks are on other nodes, listens at any address, because the name by which they know this node may resolve
 * to its loopback address here, as in Debian's /etc/hosts. An IPv6 socket accepts callers of both kinds; IPv4 is the
 * fallback for machines without IPv6. */
static enum sl_status listen_at(const char *host, int port, int world, bool spread, int *out) {
  const char *at = spread ? NULL : host;
  const int families[] = {spread ? AF_INET6 : AF_UNSPEC, AF_INET};
  int why = 0;
  *out = -1;
  for (int i = 0; *out < 0 && i < (spread ? 2 : 1); i++) {
    struct addrinfo *list;
    const int code = look_up(at, families[i], port, &list);
    if (code != 0) return unknown_host(at, code);
    *out = listen_on(list, world);
    why = errno;
    freeaddrinfo(list);
  }
  if (*out >= 0) return SL_OK;
  return sl_fail(SL_ERR_PEER, "rank 0 cannot listen at %s port %d: %s; MASTER_PORT chooses another",
                 at ? at : "any address,", port, strerror(why));
}

/* Rank 0 has a file for every rank, and others beside: the limit of open files is raised as far as it may be. */
static void allow_files(int world) {
  enum { BESIDE = 256 };
  struct rlimit files;
  const rlim_t wanted = (rlim_t)world + BESIDE;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) return;
  files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
  (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Reads who a caller is. A caller that does not speak our protocol is disconnected. */
static enum sl_status admit(struct sl_star *star, int fd, double deadline) {
  struct frame head;
  struct hello hello;
  double soon = sl_machine_clock() + 2;
  if (soon > deadline) soon = deadline;
  if (receive(fd, &head, sizeof head, soon) != MOVED || head.magic != MAGIC || head.kind != FRAME_HELLO ||
      head.bytes != sizeof hello || receive(fd, &hello, sizeof hello, soon) != MOVED) {
    close(fd);
    return SL_OK;
  }
  const uint32_t world = (uint32_t)star->world;
  const char *wrong = hello.world != world                     ? "has another world"
                      : hello.rank == 0 || hello.rank >= world ? "has no such rank"
                      : star->sockets[hello.rank] >= 0         ? "is there already"
                                                               : NULL;
  if (wrong) {
    close(fd);
    return sl_fail(SL_ERR_PEER,
                   "a process that calls itself rank %u of %u %s; expected the other ranks of a world of %d",
                   hello.rank, hello.world, wrong, star->world);
  }
  tune(fd);
  star->sockets[hello.rank] = fd;
  return SL_OK;
}

static enum sl_status gather(struct sl_star *star, int listener, double deadline) {
  for (int missing = star->world - 1; missing > 0;) {
    if (!wait_ready(listener, POLLIN, deadline)) {
      int first = 1;
      while (star->sockets[first] >= 0) first++;
      return sl_fail(SL_ERR_PEER, "%d of %d ranks did not come within %g s, rank %d first of all", missing, star->world,
                     star->timeout_s, first);
    }
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    /* a caller may be gone again; any other failure would come at once again, without end */
    if (fd < 0 && errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
      return sl_fail(SL_ERR_PEER, "rank 0 cannot accept the call of a rank, %d of %d being connected: %s",
                     star->world - 1 - missing, star->world - 1, strerror(errno));
    if (fd >= 0) SL_TRY(admit(star, fd, deadline));
    missing = 0;
    for (int i = 1; i < star->world; i++) missing += star->sockets[i] < 0;
  }
  return SL_OK;
}

/* A connected socket, or -1 with errno set, at the latest at `deadline`. */
static int connect_to(const struct addrinfo *at, double deadline) {
  int why = 0;
  socklen_t bytes = sizeof why;
  const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) return fd;
  why = errno;
  if (why == EINPROGRESS) {
    why = ETIMEDOUT;
    if (wait_ready(fd, POLLOUT, deadline)) getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes);
    if (why == 0) return fd;
  }
  close(fd);
  errno = why;
  return -1;
}

/* The first of all addresses that answers. Where packets are dropped nothing answers, and another may. */
static int connect_any(const struct addrinfo *list, double deadline) {
  enum { MOST_S = 5 }; /* of one address */
  int fd = -1;
  for (const struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
    const double soon = sl_machine_clock() + MOST_S;
    fd = connect_to(at, at->ai_next != NULL && soon < deadline ? soon : deadline);
  }
  return fd;
}

/* Rank 0 may start later than this rank, and a name server be busy, so try until the deadline. */
static enum sl_status call_root(struct sl_star *star, const char *host, int port, double deadline) {
  const struct hello hello = {(uint32_t)star->rank, (uint32_t)star->world};
  int why = ETIMEDOUT, code = 0;
  while (sl_machine_clock() < deadline) {
    struct addrinfo *list = NULL;
    code = look_up(host, AF_UNSPEC, port, &list);
    if (code != 0 && code != EAI_AGAIN) return unknown_host(host, code);
    const int fd = code == 0 ? connect_any(list, deadline) : -1;
    if (fd < 0) why = errno;
    if (code == 0) freeaddrinfo(list);
    if (fd >= 0) {
      tune(fd);
      star->sockets[0] = fd;
      return send_frame(fd, FRAME_HELLO, star->rank, &hello, sizeof hello, deadline) == MOVED ? SL_OK
                                                                                              : lost(star, 0, GONE);
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  if (code != 0) return unknown_host(host, code);
  return sl_fail(SL_ERR_PEER, "rank %d: rank 0 did not answer at %s port %d within %g s: %s", star->rank, host, port,
                 star->timeout_s, strerror(why));
}

enum sl_status sl_star_open(struct sl_star *star, int rank, int world, bool spread, const char *host, int port,
                            double timeout_s) {
  *star = (struct sl_star){.rank = rank, .world = world, .timeout_s = timeout_s};
  if (pthread_mutex_init(&star->lock, NULL) != 0) return sl_fail(SL_ERR_MEMORY, "no memory for a lock");
  star->open = 1;
  if (world == 1) return SL_OK;
  const double deadline = sl_machine_clock() + timeout_s;
  enum sl_status status = sl_calloc(&star->sockets, (size_t)(rank == 0 ? world : 1), sizeof *star->sockets);
  if (status == SL_OK)
    for (int i = 0; i < (rank == 0 ? world : 1); i++) star->sockets[i] = -1;
  if (status == SL_OK && rank > 0) status = call_root(star, host, port, deadline);
  int listener = -1;
  if (rank == 0) allow_files(world);
  if (status == SL_OK && rank == 0) status = listen_at(host, port, world, spread, &listener);
  if (status == SL_OK && rank == 0) status = gather(star, listener, deadline);
  if (listener >= 0) close(listener);
  /* no rank goes on before all have arrived */
  if (status == SL_OK) status = sl_star_agree(star, SL_OK, NULL);
  if (status != SL_OK) sl_star_close(star);
  return status;
}

/* --- exchanges --- */

/* Has the rank at the other end died, or ended the job? */
static enum sl_status watch_socket(const struct sl_star *star, int fd, int rank) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  struct frame head;
  if (fd < 0 || poll(&p, 1, 0) <= 0) return SL_OK;
  const ssize_t n = recv(fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return lost(star, rank, GONE);
  /* the frame of an exchange that came early */
  if (n < (ssize_t)sizeof head || head.magic != MAGIC || head.kind != FRAME_ABORT) return SL_OK;
  const double deadline = sl_machine_clock() + 1;
  receive(fd, &head, sizeof head, deadline);
  return aborted(fd, &head, deadline);
}

/* Waits until `rank` sends something. Meanwhile another rank may die or end the job, and this one wait for it. */
static enum sl_status await(const struct sl_star *star, int rank, double deadline) {
  static const double look_s = 0.05;
  for (double now = sl_machine_clock(); now < deadline; now = sl_machine_clock()) {
    if (wait_ready(star->sockets[rank], POLLIN, fmin(now + look_s, deadline))) break;
    for (int i = 1; i < star->world; i++) SL_TRY(watch_socket(star, star->sockets[i], i));
  }
  return SL_OK; /* what reads from it says if it is late */
}

static enum sl_status exchange_root(struct sl_star *star, const void *mine, size_t bytes, char *all, double deadline) {
  memcpy(all, mine, bytes);
  for (int i = 1; i < star->world; i++) {
    SL_TRY(await(star, i, deadline));
    SL_TRY(read_frame(star, star->sockets[i], i, all + (size_t)i * bytes, bytes, deadline));
  }
  for (int i = 1; i < star->world; i++)
    SL_TRY(write_frame(star, star->sockets[i], i, all, (size_t)star->world * bytes, deadline));
  return SL_OK;
}

static enum sl_status exchange_leaf(struct sl_star *star, const void *mine, size_t bytes, char *all, double deadline) {
  SL_TRY(write_frame(star, star->sockets[0], 0, mine, bytes, deadline));
  return read_frame(star, star->sockets[0], 0, all, (size_t)star->world * bytes, deadline);
}

enum sl_status sl_star_exchange(struct sl_star *star, const void *mine, size_t bytes, void *all) {
  if (star->world == 1) {
    memcpy(all, mine, bytes);
    return SL_OK;
  }
  const double deadline = sl_machine_clock() + star->timeout_s;
  pthread_mutex_lock(&star->lock);
  const enum sl_status status = star->rank == 0 ? exchange_root(star, mine, bytes, all, deadline)
                                                : exchange_leaf(star, mine, bytes, all, deadline);
  pthread_mutex_unlock(&star->lock);
  return status;
}

struct verdict {
  int32_t status;
  char text[TEXT];
};

enum sl_status sl_star_agree(struct sl_star *star, enum sl_status mine, int *culprit) {
  if (culprit) *culprit = star->rank;
  if (star->world == 1) return mine;
  struct verdict own = {.status = (int32_t)mine}, *all;
  if (mine != SL_OK) snprintf(own.text, sizeof own.text, "%s", sl_error_message());
  SL_TRY(sl_calloc(&all, (size_t)star->world, sizeof *all));
  enum sl_status status = sl_star_exchange(star, &own, sizeof own, all);
  for (int i = 0; status == SL_OK && i < star->world; i++) {
    if (all[i].status == SL_OK) continue;
    if (culprit) *culprit = i;
    if (i != star->rank) sl_error_clear();
    status = sl_fail((enum sl_status)all[i].status, "%s", all[i].text);
  }
  free(all);
  return status;
}

/* --- aborts --- */

enum sl_status sl_star_watch(struct sl_star *star) {
  enum sl_status status = SL_OK;
  if (star->world == 1 || pthread_mutex_trylock(&star->lock) != 0) return SL_OK;
  for (int i = 0; status == SL_OK && i < (star->rank == 0 ? star->world : 1); i++)
    status = watch_socket(star, star->sockets[i], i);
  pthread_mutex_unlock(&star->lock);
  return status;
}

void sl_star_abort(struct sl_star *star, const char *text) {
  const size_t bytes = strlen(text) < TEXT ? strlen(text) : TEXT - 1;
  for (int i = 0; star->sockets && i < (star->rank == 0 ? star->world : 1); i++)
    if (star->sockets[i] >= 0)
      send_frame(star->sockets[i], FRAME_ABORT, star->rank, text, bytes, sl_machine_clock() + 0.2);
}

void sl_star_close(struct sl_star *star) {
  for (int i = 0; star->sockets && i < (star->rank == 0 ? star->world : 1); i++)
    if (star->sockets[i] >= 0) close(star->sockets[i]);
  free(star->sockets);
  if (star->open) pthread_mutex_destroy(&star->lock);
  *star = (struct sl_star){0};
}
