/**
 * Settings: {@link io.jccl.config.Registry} lists all of them, and {@link io.jccl.config.Settings} holds the values for
 * one communicator and the places that they came from. {@code docs/environment.md} is written from the registry.
 */
package io.jccl.config;
