/**
 * The interface between the API and its implementation, and helpers for both. Not exported: applications must not use
 * it.
 */
package io.jccl.internal;
