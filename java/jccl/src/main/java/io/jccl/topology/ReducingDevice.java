package io.jccl.topology;

/**
 * A network device whose network reduces.
 *
 * @param name its name, which may differ from the kernel's
 * @param pciPath its path in sysfs; empty if unknown
 */
public record ReducingDevice(String name, String pciPath) {}
