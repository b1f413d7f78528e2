/**
 * Lets the {@code jccl ps} command look into a running job. Each process reports the state of its communicators, at
 * once and from any thread, over a Unix socket or an authenticated TCP connection.
 */
package io.jccl.status;
