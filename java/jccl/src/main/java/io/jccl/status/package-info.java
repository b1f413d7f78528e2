/**
 * Looking into a running job: what each process of it says of its communicators, at once and from any thread, over a Unix
 * socket or an authenticated TCP connection.
 */
package io.jccl.status;
