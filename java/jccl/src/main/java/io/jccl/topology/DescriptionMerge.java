package io.jccl.topology;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Fills in a given host description with values that were detected on the host. The given values take precedence, and
 * so does the given place of a device. Attributes and devices that the description omits are added, and {@code origin}
 * names them. One merge makes one description.
 *
 * <p>Elements match if they have the same key: the number of a NUMA node, the bus id of a PCI device, the name of a
 * network device. An element that contradicts its detected counterpart (another processor, another card) is not filled
 * in.
 */
final class DescriptionMerge {

    /** Attributes that identify an element: if one of them differs, the detected element is another device. */
    private static final Map<ElementType, List<String>> IDENTITY = new EnumMap<>(Map.of(
            ElementType.CPU, List.of("arch", "vendor", "familyid", "modelid"),
            ElementType.PCI, List.of("vendor", "device")));

    private static final String FOUND = "found on this host";

    private final Map<String, Draft> cpus = new HashMap<>();
    private final Map<String, Draft> pci = new HashMap<>();
    private final Map<String, Draft> netsByName = new HashMap<>();
    private final Set<Integer> netNumbers = new HashSet<>();
    private final Draft system;

    /** An element that can still be changed. */
    private static final class Draft {
        private final ElementType type;
        private final Map<String, String> attributes;
        private final List<Draft> children = new ArrayList<>();
        private final List<XmlElement> unknown;
        private final Draft parent;
        private final int line;

        Draft(XmlElement element, Draft parent) {
            this.type = element.type();
            this.attributes = new LinkedHashMap<>(element.attributes());
            this.unknown = element.unknown();
            this.parent = parent;
            this.line = element.line();
        }

        List<Draft> children(ElementType childType) {
            return children.stream().filter(child -> child.type == childType).toList();
        }

        /** Returns true if this is an end device: only switches and bridges have PCI devices below them. */
        boolean isDevice() {
            return !children(ElementType.GPU).isEmpty()
                    || !children(ElementType.NIC).isEmpty();
        }

        void note(String text) {
            String origin = attributes.containsKey("origin") ? attributes.get("origin") + "; " + text : text;
            attributes.put("origin", origin.substring(0, Math.min(origin.length(), AttributeRule.MAX_LENGTH)));
        }

        XmlElement element() {
            List<XmlElement> all = new ArrayList<>(unknown);
            children.forEach(child -> all.add(child.element()));
            return new XmlElement(type, attributes, all, line);
        }
    }

    private DescriptionMerge(XmlElement given) {
        this.system = draft(given, null);
    }

    /**
     * Returns the given description with its gaps filled in.
     *
     * @param given a description without ranks
     * @param found the detected description, without ranks
     */
    static XmlElement merge(XmlElement given, XmlElement found) {
        DescriptionMerge merge = new DescriptionMerge(given);
        found.children(ElementType.CPU).forEach(merge::addCpu);
        return merge.system.element();
    }

    private Draft draft(XmlElement element, Draft parent) {
        Draft draft = new Draft(element, parent);
        switch (element.type()) {
            case CPU -> element.text("numaid").ifPresent(numa -> cpus.putIfAbsent(numa, draft));
            case PCI -> element.text("busid").ifPresent(id -> pci.putIfAbsent(key(id), draft));
            case NET -> {
                element.text("name").ifPresent(name -> netsByName.putIfAbsent(name, draft));
                netNumbers.add(element.integer("dev", -1));
            }
            default -> {}
        }
        element.children().forEach(child -> draft.children.add(draft(child, draft)));
        return draft;
    }

    private static String key(String busId) {
        return busId.toLowerCase(Locale.ROOT);
    }

    private void addCpu(XmlElement found) {
        Draft cpu = cpus.get(found.text("numaid").orElseThrow());
        if (cpu == null) {
            cpu = new Draft(found, system);
            cpu.note(FOUND);
            system.children.add(cpu);
        } else {
            fill(cpu, found);
        }
        for (XmlElement child : found.children()) {
            add(child, cpu);
        }
    }

    private void add(XmlElement found, Draft parent) {
        switch (found.type()) {
            case PCI -> addPci(found, parent);
            case GPU -> addGpu(found, parent);
            case NIC -> addNic(found, parent);
            default -> throw new IllegalArgumentException(found + ": no detection finds this here");
        }
    }

    private void addPci(XmlElement found, Draft parent) {
        Draft known = pci.get(key(found.text("busid").orElseThrow()));
        if (known != null) {
            if (fill(known, found)) {
                found.children().forEach(child -> addBehind(child, known));
            }
            return;
        }
        Draft made = new Draft(found, parent);
        found.children().forEach(child -> add(child, made));
        // The given description may place the devices below this bridge elsewhere. A bridge that remains empty is
        // omitted.
        if (!made.children.isEmpty()) {
            made.note(FOUND);
            parent.children.add(made);
        }
    }

    /**
     * Adds a detected child of an element that is also given. The given description may show a bridge as a device, or a
     * device as a bridge.
     */
    private void addBehind(XmlElement found, Draft known) {
        boolean bridge = !known.children(ElementType.PCI).isEmpty();
        if (found.type() == ElementType.PCI) {
            add(found, known.isDevice() ? known.parent : known);
        } else if (!bridge) {
            add(found, known);
        }
    }

    private void addGpu(XmlElement found, Draft parent) {
        List<Draft> known = parent.children(ElementType.GPU);
        if (known.isEmpty()) {
            Draft made = new Draft(found, parent);
            found.children().forEach(link -> made.children.add(new Draft(link, made)));
            made.note(FOUND);
            parent.children.add(made);
            return;
        }
        Draft gpu = known.get(0);
        fill(gpu, found);
        for (ElementType links : List.of(ElementType.NVLINK, ElementType.C2C)) {
            if (gpu.children(links).isEmpty() && !found.children(links).isEmpty()) {
                found.children(links).forEach(link -> gpu.children.add(new Draft(link, gpu)));
                gpu.note(links.tag() + " " + FOUND);
            }
        }
    }

    private void addNic(XmlElement found, Draft parent) {
        List<Draft> known = parent.children(ElementType.NIC).stream()
                .filter(card -> parent.type == ElementType.PCI || card.children.isEmpty())
                .toList();
        Draft nic = known.isEmpty() ? new Draft(found, parent) : known.get(0);
        for (XmlElement net : found.children(ElementType.NET)) {
            Optional<Draft> same = sameNet(net, known);
            if (same.isPresent()) {
                fill(same.get(), net);
            } else {
                nic.children.add(numbered(net, nic));
            }
        }
        if (known.isEmpty() && !nic.children.isEmpty()) {
            nic.note(FOUND);
            parent.children.add(nic);
        }
    }

    /**
     * Returns the device with the same name, wherever it is; otherwise a nameless device of the same card with no or
     * the same port.
     */
    private Optional<Draft> sameNet(XmlElement net, List<Draft> cards) {
        Draft named = netsByName.get(net.text("name").orElse(""));
        if (named != null) {
            return Optional.of(named);
        }
        String port = net.text("port").orElse("0");
        return cards.stream()
                .flatMap(card -> card.children(ElementType.NET).stream())
                .filter(other -> !other.attributes.containsKey("name")
                        && other.attributes.getOrDefault("port", port).equals(port))
                .findFirst();
    }

    /** Gives an added device an unused number; devices of the given description keep their numbers. */
    private Draft numbered(XmlElement net, Draft nic) {
        Draft made = new Draft(net, nic);
        int dev = net.integer("dev", -1);
        if (dev >= 0) {
            while (!netNumbers.add(dev)) {
                dev++;
            }
            made.attributes.put("dev", Integer.toString(dev));
        }
        made.note(FOUND);
        return made;
    }

    /** Adds missing and empty attributes; returns false if the two elements are different devices. */
    private static boolean fill(Draft known, XmlElement found) {
        for (String name : IDENTITY.getOrDefault(known.type, List.of())) {
            String given = known.attributes.getOrDefault(name, "");
            if (!given.isEmpty()
                    && found.text(name).filter(other -> !alike(given, other)).isPresent()) {
                return false;
            }
        }
        List<String> filled = new ArrayList<>();
        found.attributes().forEach((name, value) -> {
            if (!name.equals("origin")
                    && known.attributes.getOrDefault(name, "").isEmpty()) {
                known.attributes.put(name, value);
                filled.add(name);
            }
        });
        if (!filled.isEmpty()) {
            known.note(String.join(" ", filled) + " " + FOUND);
        }
        return true;
    }

    private static boolean alike(String one, String other) {
        return one.equalsIgnoreCase(other)
                || one.startsWith("0x")
                        && other.startsWith("0x")
                        && Long.parseUnsignedLong(one.substring(2), 16)
                                == Long.parseUnsignedLong(other.substring(2), 16);
    }
}
