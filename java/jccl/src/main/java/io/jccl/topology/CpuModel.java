package io.jccl.topology;

/**
 * The model of a processor.
 *
 * @param arch the architecture as the system spells it, empty if unknown
 * @param vendor the vendor as the processor spells it, empty if unknown
 * @param family the vendor's family number, -1 if unknown
 * @param model the vendor's model number, -1 if unknown
 */
public record CpuModel(String arch, String vendor, int family, int model) {

    /** A processor about which nothing is known. */
    public static final CpuModel UNKNOWN = new CpuModel("", "", -1, -1);
}
