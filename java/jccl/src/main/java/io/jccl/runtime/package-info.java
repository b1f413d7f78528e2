/** Implements the API: operations and their queue, groups, staging of heap arrays, failures, and closing. */
package io.jccl.runtime;
