package io.jccl.topology;

import static io.jccl.topology.AttributeRule.optional;
import static io.jccl.topology.AttributeRule.required;

import io.jccl.topology.AttributeRule.Kind;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The elements of a host description, with the attributes and children that each may have. The dialect is NCCL's with
 * these additions of JCCL: the element {@code host}; the attribute {@code origin} on any element, which names the
 * source of values that were not simply read from the system; {@code nop2p} on GPUs, which lists the bus ids of GPUs
 * whose memory they cannot access; and on network devices their state, driver, link layer and network interface, and
 * whether they are virtual.
 */
public enum ElementType {
    /** The host. */
    SYSTEM(required("version", Kind.COUNT)),
    /** A NUMA node with its processors. */
    CPU(
            required("numaid", Kind.INTEGER),
            optional("host_hash", Kind.HEX),
            optional("affinity", Kind.MASK),
            optional("arch", Kind.TEXT),
            optional("vendor", Kind.TEXT),
            optional("familyid", Kind.INTEGER),
            optional("modelid", Kind.INTEGER)),
    /** A PCI device: a bridge or switch, a GPU, or a network card. */
    PCI(
            required("busid", Kind.BUS_ID),
            optional("class", Kind.HEX),
            optional("vendor", Kind.HEX),
            optional("device", Kind.HEX),
            optional("subsystem_vendor", Kind.HEX),
            optional("subsystem_device", Kind.HEX),
            optional("link_speed", Kind.TEXT),
            optional("link_width", Kind.INTEGER),
            optional("keep", Kind.FLAG)),
    /** The GPU on a PCI device. */
    GPU(
            optional("dev", Kind.INTEGER),
            optional("sm", Kind.COUNT),
            optional("mig", Kind.FLAG),
            optional("rank", Kind.INTEGER),
            optional("gdr", Kind.FLAG),
            optional("keep", Kind.FLAG),
            optional("nop2p", Kind.BUS_IDS)),
    /** NVLinks from a GPU to one other device. */
    NVLINK(required("target", Kind.LINK_TARGET), required("count", Kind.COUNT), optional("tclass", Kind.HEX)),
    /** Chip-to-chip links from a GPU to its CPU. */
    C2C(required("bw", Kind.NUMBER), required("count", Kind.COUNT)),
    /** A direct link between two PCI switches, outside the PCI tree. */
    PCILINK(required("target", Kind.BUS_ID)),
    /** A network card, under its PCI device, or under a CPU if the PCI device is unknown. */
    NIC(optional("busid", Kind.BUS_ID), optional("keep", Kind.FLAG)),
    /** A network device: one port of a card. */
    NET(
            optional("name", Kind.TEXT),
            required("dev", Kind.INTEGER),
            optional("speed", Kind.INTEGER),
            optional("port", Kind.INTEGER),
            optional("latency", Kind.NUMBER),
            optional("guid", Kind.HEX),
            optional("maxconn", Kind.INTEGER),
            optional("gdr", Kind.FLAG),
            optional("coll", Kind.FLAG),
            optional("net", Kind.FLAG),
            optional("gin", Kind.INTEGER),
            optional("rma", Kind.INTEGER),
            optional("keep", Kind.FLAG),
            optional("state", Kind.TEXT),
            optional("driver", Kind.TEXT),
            optional("layer", Kind.TEXT),
            optional("interface", Kind.TEXT),
            optional("virtual", Kind.FLAG),
            optional("plugin", Kind.TEXT)),
    /** The endpoint of a rank that works on host memory; {@code bw} is the memory bandwidth in GB/s. */
    HOST(required("rank", Kind.COUNT), optional("bw", Kind.NUMBER)),
    /**
     * An element with any other name, and every element inside it. Unknown elements are kept for writing and not used.
     */
    UNKNOWN;

    static {
        SYSTEM.children = List.of(CPU);
        CPU.children = List.of(PCI, NIC, HOST);
        PCI.children = List.of(PCI, GPU, NIC, PCILINK);
        GPU.children = List.of(NVLINK, C2C);
        NIC.children = List.of(NET);
        UNKNOWN.children = List.of(UNKNOWN);
    }

    private final Map<String, AttributeRule> rules = new LinkedHashMap<>();
    private List<ElementType> children = List.of();

    ElementType(AttributeRule... rules) {
        for (AttributeRule rule : rules) {
            this.rules.put(rule.name(), rule);
        }
        this.rules.put("origin", optional("origin", Kind.TEXT));
    }

    public String tag() {
        return name().toLowerCase(Locale.ROOT);
    }

    public List<ElementType> allowedChildren() {
        return children;
    }

    /**
     * Returns the names of the attributes that have a meaning on this element. Other attributes are kept for writing
     * and not used.
     */
    public Collection<String> attributeNames() {
        return rules.keySet();
    }

    Collection<AttributeRule> rules() {
        return rules.values();
    }

    AttributeRule rule(String attribute) {
        return rules.get(attribute);
    }

    static Optional<ElementType> ofTag(String tag) {
        return Arrays.stream(values())
                .filter(type -> type != UNKNOWN && type.tag().equals(tag))
                .findFirst();
    }
}
