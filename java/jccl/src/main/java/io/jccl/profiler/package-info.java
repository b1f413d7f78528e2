/**
 * Profiler plug-ins with NCCL's interface: passes the begin and the end of operations on. Can be left out.
 */
package io.jccl.profiler;
