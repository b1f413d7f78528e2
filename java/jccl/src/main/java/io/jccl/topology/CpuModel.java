package io.jccl.topology;

/**
 * What is known of a processor.
 *
 * @param arch the architecture as the system spells it, empty where not known
 * @param vendor the vendor as the processor spells it, empty where not known
 * @param family the vendor's family number, -1 where not known
 * @param model the vendor's model number, -1 where not known
 */
public record CpuModel(String arch, String vendor, int family, int model) {

    /** A processor of which nothing is known. */
    public static final CpuModel UNKNOWN = new CpuModel("", "", -1, -1);
}
