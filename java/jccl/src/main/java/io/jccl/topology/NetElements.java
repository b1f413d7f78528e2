package io.jccl.topology;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Describes network devices as elements of a host description. A port with both verbs and a network interface is one
 * device, named after its adapter. The devices in use are those that the transport between hosts will use: a network
 * plug-in's devices, ports, or interfaces. All other devices are listed with {@code dev="-1"}, and {@code origin} says
 * why they are not used.
 */
final class NetElements {

    private static final int MAX_DEVICES = 256;

    private final NetDevices interfaces;
    private final VerbsDevices verbs;
    private final boolean verbsTried;
    private final Optional<NetPlugin> plugin;
    private final Set<List<String>> reducingChains = new HashSet<>();
    private final Set<String> reducingNames = new HashSet<>(); // names of devices whose place on PCI is unknown

    /**
     * A device and its place.
     *
     * @param chain bus ids from the root port to the card, empty if the device is not on PCI
     * @param element its description
     */
    record Placed(List<String> chain, XmlElement element) {}

    /** A device that has no number yet. {@code against} is the reason not to use it; empty if it can be used. */
    private record Draft(
            String name, List<String> chain, Map<String, String> attributes, List<String> notes, String against)
            implements Comparable<Draft> {

        @Override
        public int compareTo(Draft other) {
            return NetDevices.compare(chain, name, other.chain, other.name);
        }
    }

    /**
     * @param verbsTried whether data travels by verbs if a port is active; otherwise it travels by sockets, which need
     *     interfaces
     * @param plugin the network plug-in, which takes precedence over verbs and sockets
     * @param reducing the devices whose network reduces
     */
    NetElements(
            NetDevices interfaces,
            VerbsDevices verbs,
            boolean verbsTried,
            Optional<NetPlugin> plugin,
            List<ReducingDevice> reducing) {
        this.interfaces = interfaces;
        this.verbs = verbs;
        this.verbsTried = verbsTried;
        this.plugin = plugin;
        for (ReducingDevice device : reducing) {
            List<String> chain = interfaces.chainOf(device.pciPath());
            if (chain.isEmpty()) {
                reducingNames.add(device.name());
            } else {
                reducingChains.add(chain);
            }
        }
    }

    /** Returns all devices: first those on PCI in the order of their bus ids, then the others. */
    List<Placed> list() {
        List<NetDevices.Device> devices = interfaces.list();
        Map<String, NetDevices.Device> byName = new HashMap<>();
        boolean physical = false;
        for (NetDevices.Device device : devices) {
            byName.put(device.name(), device);
            physical |= !device.virtual() && !device.isDown();
        }
        List<Draft> drafts = new ArrayList<>();
        Set<String> ofPlugin = addPlugin(drafts);
        List<VerbsDevices.Port> ports = verbs.list();
        Set<String> withPort = new HashSet<>();
        Set<String> taken = new HashSet<>();
        boolean active = false;
        for (VerbsDevices.Port port : ports) {
            if (!ofPlugin.contains(port.device())) {
                drafts.add(draft(port, byName.get(port.netInterface())));
            }
            withPort.add(port.netInterface());
            active |= port.isActive();
            if (port.isActive() && !port.netInterface().isEmpty()) {
                taken.add(port.netInterface());
            }
        }
        for (NetDevices.Device device : devices) {
            if (!withPort.contains(device.name()) && !ofPlugin.contains(device.name())) {
                String against = against(device, physical, taken, verbsTried && active && plugin.isEmpty());
                drafts.add(draft(device, against.isEmpty() ? againstOthers() : against));
            }
        }
        Collections.sort(drafts);
        int dev = 0;
        List<Placed> placed = new ArrayList<>();
        for (Draft draft : drafts.subList(0, Math.min(MAX_DEVICES, drafts.size()))) {
            placed.add(new Placed(draft.chain, element(draft, draft.against.isEmpty() ? dev++ : -1)));
        }
        return placed;
    }

    /**
     * Adds the plug-in's devices and returns their names. The system may list the same card under one of these names.
     */
    private Set<String> addPlugin(List<Draft> drafts) {
        Set<String> names = new HashSet<>();
        if (plugin.isPresent()) {
            for (NetPlugin.Device device : plugin.get().devices()) {
                Map<String, String> attributes = new LinkedHashMap<>();
                List<String> notes = new ArrayList<>();
                notes.add("network plug-in " + plugin.get().name());
                if (device.speedMbps() > 0) {
                    attributes.put("speed", Integer.toString(device.speedMbps()));
                } else {
                    notes.add("no speed given");
                }
                attributes.put("port", Integer.toString(device.port()));
                if (device.latencyMicros() > 0) {
                    attributes.put("latency", Double.toString(device.latencyMicros()));
                }
                putKnown(attributes, "guid", device.guid() == 0 ? "" : "0x" + Long.toHexString(device.guid()));
                if (device.maxConnections() > 0) {
                    attributes.put("maxconn", Integer.toString(device.maxConnections()));
                }
                attributes.put("gdr", device.reachesGpus() ? "1" : "0");
                attributes.put("plugin", plugin.get().name());
                drafts.add(new Draft(device.name(), interfaces.chainOf(device.pciPath()), attributes, notes, ""));
                names.add(device.name());
            }
        }
        return names;
    }

    private String againstOthers() {
        return plugin.map(one -> "not used because data goes by the network plug-in " + one.name())
                .orElse("");
    }

    private Draft draft(VerbsDevices.Port port, NetDevices.Device on) {
        Map<String, String> attributes = new LinkedHashMap<>();
        List<String> notes = new ArrayList<>();
        putSpeed(attributes, notes, port.mbps() > 0 || on == null ? port.mbps() : on.mbps());
        attributes.put("port", Integer.toString(port.number()));
        putKnown(attributes, "guid", port.guid());
        attributes.put("gdr", verbsTried ? "1" : "0");
        putKnown(attributes, "state", port.state());
        putKnown(attributes, "driver", on == null ? "" : on.driver());
        putKnown(attributes, "layer", port.linkLayer());
        putKnown(attributes, "interface", on == null ? "" : on.name());
        return new Draft(port.device(), port.chain(), attributes, notes, against(port, on));
    }

    private String against(VerbsDevices.Port port, NetDevices.Device on) {
        if (!port.isActive()) {
            return "not used because its port is not active";
        }
        if (plugin.isPresent()) {
            return againstOthers();
        }
        if (!verbsTried && (on == null || on.isDown())) {
            return "not used because it has no network interface that is up, and the settings leave verbs out";
        }
        return "";
    }

    private static Draft draft(NetDevices.Device device, String against) {
        Map<String, String> attributes = new LinkedHashMap<>();
        List<String> notes = new ArrayList<>();
        putSpeed(attributes, notes, device.mbps());
        attributes.put("gdr", "0");
        putKnown(attributes, "state", device.state());
        putKnown(attributes, "driver", device.driver());
        attributes.put("virtual", device.virtual() ? "1" : "0");
        return new Draft(device.name(), device.chain(), attributes, notes, against);
    }

    private static String against(NetDevices.Device device, boolean physical, Set<String> taken, boolean byVerbs) {
        if (device.isDown()) {
            return "not used because it is down";
        }
        if (device.isInternal() || physical && device.virtual()) {
            return "not used because it is virtual";
        }
        if (taken.contains(device.master())) {
            return "not used because it is a part of " + device.master();
        }
        return byVerbs ? "not used because data goes by verbs, and it has none" : "";
    }

    private XmlElement element(Draft draft, int dev) {
        Map<String, String> attributes = new LinkedHashMap<>();
        attributes.put("name", draft.name);
        attributes.put("dev", Integer.toString(dev));
        attributes.putAll(draft.attributes);
        if (reduces(draft)) {
            attributes.put("coll", "1");
        }
        List<String> notes = new ArrayList<>(draft.notes);
        if (!draft.against.isEmpty()) {
            notes.add(draft.against);
        }
        if (!notes.isEmpty()) {
            attributes.put("origin", String.join("; ", notes));
        }
        return new XmlElement(ElementType.NET, attributes, List.of(), 0);
    }

    /**
     * Returns true if the network behind a device reduces. Compares the chains of PCI bus ids first, because the
     * plug-in that reduces may use another name for a card than the plug-in that connects ranks.
     */
    private boolean reduces(Draft draft) {
        return reducingChains.contains(draft.chain) || reducingNames.contains(draft.name);
    }

    private static void putSpeed(Map<String, String> attributes, List<String> notes, int mbps) {
        if (mbps > 0) {
            attributes.put("speed", Integer.toString(mbps));
        } else {
            notes.add("sysfs without speed");
        }
    }

    private static void putKnown(Map<String, String> attributes, String name, String value) {
        if (!value.isEmpty()) {
            attributes.put(name, value);
        }
    }
}
