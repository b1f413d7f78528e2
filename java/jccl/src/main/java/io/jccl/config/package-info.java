/**
 * The one registry of settings: {@link io.jccl.config.Registry} says what there is, {@link io.jccl.config.Settings} what
 * holds for one communicator and where each value came from. {@code docs/environment.md} is written from the registry.
 */
package io.jccl.config;
