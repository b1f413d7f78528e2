/** Where the API and what implements it meet. Not exported: applications do not use it. */
package io.jccl.internal;
