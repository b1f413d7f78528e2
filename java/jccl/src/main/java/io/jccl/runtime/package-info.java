/** The API's implementation: operations and their queue, groups, staging of heap arrays, failures, and the orderly end. */
package io.jccl.runtime;
