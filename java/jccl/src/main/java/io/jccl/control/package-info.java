/**
 * The control network of a group, which is the set of ranks of one communicator. Every rank stays connected to the
 * {@code CoordinatorServer} in the process of rank 0. Over this connection ranks exchange small messages out of band, and agree
 * on failures: the {@code Coordinator} decides what failed.
 */
package io.jccl.control;
