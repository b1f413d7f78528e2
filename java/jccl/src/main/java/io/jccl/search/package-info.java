/** Channels on one host: in which orders data visits its ranks, and what bandwidth that gives. */
package io.jccl.search;
