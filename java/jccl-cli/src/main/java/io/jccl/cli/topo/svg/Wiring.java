package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.HostView;
import io.jccl.cli.topo.Wire;
import io.jccl.topology.LinkType;
import io.jccl.topology.NodeType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Cuts the links of a host into vertical legs and horizontal strips.
 *
 * <pre>
 *        ═══════ bus ═══════          between NUMA nodes, all pairs alike
 *        ║                 ║
 *     [ CPU ]           [ CPU ]       a link up the tree is one leg
 *      ║   ║             ║
 *    [PCI] ║           [GPU]
 *     ║    ║             ║
 *   [GPU][GPU]           ║            a link between GPUs is two legs and a strip below all boxes
 *     ╚════════ NVL ═════╝
 * </pre>
 */
final class Wiring {

    static final String BUS = "bus";

    private final HostView host;
    private final Map<String, Strip> strips = new LinkedHashMap<>();
    private final List<Leg> legs = new ArrayList<>();
    private final Map<Wire, List<Leg>> legsOfWire = new LinkedHashMap<>();
    private final Map<String, Leg> busLegs = new LinkedHashMap<>();

    Wiring(HostView host) {
        this.host = host;
        host.names().forEach(name -> strips.put(name, new Strip(name, Strip.Kind.NODE, null, -1)));
        Optional<Wire> mesh = host.evenMesh();
        mesh.ifPresent(wire -> {
            strips.put(BUS, new Strip(BUS, Strip.Kind.BUS, wire, 0));
            host.ofType(NodeType.CPU).forEach(cpu -> busLegs.put(cpu, leg(wire, BUS, cpu, cpu, false)));
        });
        for (Wire wire : host.wires()) {
            if (wire.type() == LinkType.SYS && mesh.isPresent()) {
                legsOfWire.put(wire, List.of(busLegs.get(wire.one()), busLegs.get(wire.other())));
            } else {
                legsOfWire.put(wire, cut(wire));
            }
        }
    }

    private List<Leg> cut(Wire wire) {
        String one = wire.one();
        String other = wire.other();
        if (isGpu(one) && isGpu(other)) {
            return around(wire, Strip.Kind.BELOW, -1);
        }
        for (String gpu : List.of(one, other)) {
            String nvs = wire.opposite(gpu);
            if (isGpu(gpu) && host.type(nvs) == NodeType.NVS) {
                return List.of(leg(wire, gpu, nvs, gpu, true));
            }
        }
        if (host.above(one, other)) {
            return List.of(leg(wire, one, other, other, true));
        }
        if (host.above(other, one)) {
            return List.of(leg(wire, other, one, one, true));
        }
        return around(wire, Strip.Kind.ABOVE, Math.min(host.depth(one), host.depth(other)));
    }

    private List<Leg> around(Wire wire, Strip.Kind kind, int level) {
        Strip strip = new Strip("track " + strips.size(), kind, wire, level);
        strips.put(strip.id(), strip);
        List<Leg> two = new ArrayList<>();
        for (String end : List.of(wire.one(), wire.other())) {
            boolean below = kind == Strip.Kind.BELOW;
            two.add(leg(wire, below ? end : strip.id(), below ? strip.id() : end, end, false));
        }
        return two;
    }

    private Leg leg(Wire wire, String upper, String lower, String anchor, boolean labelled) {
        Leg leg = new Leg(legs.size(), wire, upper, lower, anchor, labelled && !wire.isInside());
        legs.add(leg);
        return leg;
    }

    private boolean isGpu(String name) {
        return host.type(name) == NodeType.GPU;
    }

    HostView host() {
        return host;
    }

    List<Strip> strips() {
        return List.copyOf(strips.values());
    }

    Strip strip(String id) {
        return strips.get(id);
    }

    List<Leg> legs() {
        return legs;
    }

    /** Returns the legs whose horizontal position is chosen at the upper or lower edge of a box. */
    List<Leg> anchored(String node, boolean top) {
        return legs.stream()
                .filter(leg -> leg.anchor().equals(node) && (top ? leg.lower() : leg.upper()).equals(node))
                .toList();
    }

    /** Returns the legs at a strip. */
    List<Leg> at(String strip) {
        return legs.stream()
                .filter(leg -> leg.upper().equals(strip) || leg.lower().equals(strip))
                .toList();
    }

    /**
     * Returns the legs of the widest link between two nodes, beginning at the first node; empty if there is no link.
     */
    List<Leg> between(String from, String to) {
        Optional<Wire> wire = host.widest(from, to);
        if (wire.isEmpty()) {
            return List.of();
        }
        List<Leg> found = legsOfWire.get(wire.get());
        return found.size() < 2 || found.get(0).anchor().equals(from) ? found : List.of(found.get(1), found.get(0));
    }
}
