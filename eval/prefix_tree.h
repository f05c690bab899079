/*
 * Which requests begin alike: a tree whose nodes are runs of ids that several of them share.
 *
 * Requests are sorted by the ids that the model is fed. A node is a run of ids, at depths
 * [begin, end), common to the requests order[lo .. hi); its children go on from there. The
 * path from a root to the node where a request ends spells what is fed for that request, so
 * running every node once, after its parent, computes each shared id once.
 *
 * Sharing is not free: a child begins with a copy of its parent's last page of keys and
 * values (when that page is not full), and cannot run in the same pass as its parent. A run
 * becomes a node of its own only where it saves at least EVAL_MIN_SAVED ids in all; shorter
 * ones are repeated in each child.
 */
#ifndef EVAL_PREFIX_TREE_H
#define EVAL_PREFIX_TREE_H

#include "eval/request.h"
#include "rml.h"

/* A page is 64 positions and its copy costs about what a few positions cost to compute. */
#define EVAL_MIN_SAVED 16

#define EVAL_NO_NODE SIZE_MAX

struct prefix_node {
    size_t lo, hi;       /* the requests that pass through it, in the tree's order */
    size_t begin, end;   /* depths of its ids, begin < end */
    size_t parent;       /* or EVAL_NO_NODE */
    size_t first_child;  /* or EVAL_NO_NODE */
    size_t next_sibling; /* or EVAL_NO_NODE; also links the roots */
    size_t n_children;
    size_t first_wanted; /* the least depth whose logits a request wants; end: none here */
    size_t n_pages;      /* that running it can take up */
    size_t chain_pages;  /* the same of it and its dearest line of descendants */
};

struct prefix_tree {
    size_t *order; /* [n_requests] indices of requests, sorted */
    size_t n_requests;
    struct prefix_node *nodes; /* [n_nodes], parents before children */
    size_t n_nodes, capacity;
    size_t first_root;  /* EVAL_NO_NODE without requests */
    size_t max_depth;   /* ids of the longest path */
    size_t chain_pages; /* the most that a root's line can take up: with so many any tree runs */
    size_t n_ids;       /* of all nodes: what has to be run */
};

/* `chosen` [n_chosen] are indices into requests. share false: no run is shared, every request
 * is a root. */
bool prefix_tree_init(struct prefix_tree *tree, const struct eval_request *requests,
                      const size_t *chosen, size_t n_chosen, bool share, struct rml_error *err);
void prefix_tree_release(struct prefix_tree *tree);

#endif
