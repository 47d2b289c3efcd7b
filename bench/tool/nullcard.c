/*
 * A Vulkan driver without a card, for reading what a card's compiler makes of our kernels. Mesa's RADV compiles for the
 * card that RADV_FORCE_FAMILY names, its NVK and Honeykrisp for those of a library that stands for the kernel's driver; none
 * can allocate memory, record commands or wait. This library passes every call on to the driver (NULLCARD_DRIVER) except
 * those, which succeed without doing anything, and appends the statistics and the
 * assembly of every compute pipeline to the file NULLCARD_LOG: lines of "name<TAB>value", the assembly between "<<" and
 * ">>", then "end". Results of dispatches are zeros.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vulkan/vulkan.h>

enum { LOADER_INTERFACE = 5, MOST_EXTENSIONS = 512, MOST_STATISTICS = 64, MOST_TEXTS = 16 };

typedef PFN_vkVoidFunction(VKAPI_PTR *Lookup)(VkInstance, const char *);
static Lookup driver_lookup, driver_physical_lookup;
static PFN_vkGetDeviceProcAddr driver_device_lookup;
static PFN_vkCreateDevice driver_create_device;
static PFN_vkCreateComputePipelines driver_create_pipelines;
static PFN_vkGetPhysicalDeviceMemoryProperties driver_memory;
static PFN_vkGetPhysicalDeviceMemoryProperties2 driver_memory2;
static PFN_vkGetBufferMemoryRequirements driver_needs;
static PFN_vkGetBufferMemoryRequirements2 driver_needs2;
static PFN_vkGetPipelineExecutablePropertiesKHR properties;
static PFN_vkGetPipelineExecutableStatisticsKHR statistics;
static PFN_vkGetPipelineExecutableInternalRepresentationsKHR representations;

/* Memory: pages that exist once they are written. */
struct pages {
  size_t size;
  void *at;
};

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *callbacks, VkDeviceMemory *out) {
  struct pages *made = malloc(sizeof *made);
  if (made == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
  made->size = info->allocationSize;
  made->at = mmap(NULL, made->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made->at == MAP_FAILED) {
    free(made);
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  }
  *out = (VkDeviceMemory)(uintptr_t)made;
  return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL release(VkDevice device, VkDeviceMemory given, const VkAllocationCallbacks *callbacks) {
  struct pages *pages = (struct pages *)(uintptr_t)given;
  if (pages == NULL) return;
  munmap(pages->at, pages->size);
  free(pages);
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory given, VkDeviceSize offset, VkDeviceSize size,
                                          VkMemoryMapFlags flags, void **out) {
  *out = (char *)((struct pages *)(uintptr_t)given)->at + offset;
  return VK_SUCCESS;
}

/* One kind of memory, which can be mapped: these pages are the process's own. */
static void one_memory(VkPhysicalDeviceMemoryProperties *out) {
  out->memoryTypeCount = 1;
  out->memoryTypes[0].heapIndex = 0;
  out->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  out->memoryHeapCount = 1;
  out->memoryHeaps[0].size = 16ull << 30;
  out->memoryHeaps[0].flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
}

static VKAPI_ATTR void VKAPI_CALL memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *out) {
  driver_memory(device, out);
  one_memory(out);
}

static VKAPI_ATTR void VKAPI_CALL memory2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *out) {
  driver_memory2(device, out);
  one_memory(&out->memoryProperties);
}

static VKAPI_ATTR void VKAPI_CALL needs(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out) {
  driver_needs(device, buffer, out);
  out->memoryTypeBits = 1;
}

static VKAPI_ATTR void VKAPI_CALL needs2(VkDevice device, const VkBufferMemoryRequirementsInfo2 *info,
                                         VkMemoryRequirements2 *out) {
  driver_needs2(device, info, out);
  out->memoryRequirements.memoryTypeBits = 1;
}

/* Commands and waits: done at once. */
static VkResult VKAPI_CALL nothing(void) { return VK_SUCCESS; }

static VKAPI_ATTR VkResult VKAPI_CALL create_handle(VkDevice device, const void *info, const void *callbacks,
                                                    uint64_t *out) {
  static uint64_t next = 1;
  *out = next++;
  return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL counter(VkDevice device, VkSemaphore semaphore, uint64_t *out) {
  *out = UINT64_MAX >> 1;
  return VK_SUCCESS;
}

static const char *const NOTHING[] = {
    "vkBeginCommandBuffer", "vkEndCommandBuffer", "vkResetCommandBuffer", "vkFreeCommandBuffers", "vkResetCommandPool",
    "vkDestroyCommandPool", "vkQueueSubmit", "vkQueueSubmit2", "vkQueueSubmit2KHR", "vkQueueBindSparse",
    "vkQueueWaitIdle", "vkDeviceWaitIdle", "vkGetFenceStatus", "vkWaitForFences", "vkResetFences", "vkDestroyFence",
    "vkGetFenceFdKHR", "vkWaitSemaphores", "vkWaitSemaphoresKHR", "vkSignalSemaphore", "vkSignalSemaphoreKHR",
    "vkDestroySemaphore", "vkGetSemaphoreFdKHR", "vkGetQueryPoolResults", "vkDestroyQueryPool", "vkUnmapMemory",
    "vkFlushMappedMemoryRanges", "vkInvalidateMappedMemoryRanges", "vkBindBufferMemory", "vkBindBufferMemory2",
    "vkBindBufferMemory2KHR", "vkUpdateDescriptorSets", "vkDestroyDevice", NULL};

static int does_nothing(const char *name) {
  if (strncmp(name, "vkCmd", 5) == 0) return 1;
  for (int i = 0; NOTHING[i] != NULL; i++)
    if (strcmp(name, NOTHING[i]) == 0) return 1;
  return 0;
}

/* Pipelines: compiled by the driver, then described in the log. */
static FILE *log_file(void) {
  static FILE *file;
  const char *path = getenv("NULLCARD_LOG");
  if (file == NULL && path != NULL) file = fopen(path, "a");
  return file;
}

static void log_statistics(FILE *file, VkDevice device, const VkPipelineExecutableInfoKHR *which) {
  VkPipelineInfoKHR pipeline = {VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, NULL, which->pipeline};
  VkPipelineExecutablePropertiesKHR own = {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  uint32_t one = 1;
  properties(device, &pipeline, &one, &own);
  fprintf(file, "Subgroup size\t%u\n", own.subgroupSize);
  VkPipelineExecutableStatisticKHR all[MOST_STATISTICS];
  uint32_t count = MOST_STATISTICS;
  memset(all, 0, sizeof all);
  for (int i = 0; i < MOST_STATISTICS; i++) all[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  statistics(device, which, &count, all);
  for (uint32_t i = 0; i < count; i++) {
    if (all[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR)
      fprintf(file, "%s\t%llu\n", all[i].name, (unsigned long long)all[i].value.u64);
    if (all[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR)
      fprintf(file, "%s\t%lld\n", all[i].name, (long long)all[i].value.i64);
  }
}

static void log_assembly(FILE *file, VkDevice device, const VkPipelineExecutableInfoKHR *which) {
  VkPipelineExecutableInternalRepresentationKHR all[MOST_TEXTS];
  uint32_t count = MOST_TEXTS;
  memset(all, 0, sizeof all);
  for (int i = 0; i < MOST_TEXTS; i++)
    all[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
  representations(device, which, &count, all);
  for (uint32_t i = 0; i < count; i++) all[i].pData = calloc(1, all[i].dataSize + 1);
  representations(device, which, &count, all);
  for (uint32_t i = 0; i < count; i++) {
    if (all[i].isText && strstr(all[i].name, "ssembly") != NULL) fprintf(file, "<<\n%s\n>>\n", (char *)all[i].pData);
    free(all[i].pData);
  }
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *callbacks, VkPipeline *out) {
  FILE *file = log_file();
  for (uint32_t i = 0; i < count; i++) {
    VkComputePipelineCreateInfo info = infos[i];
    info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    VkResult result = driver_create_pipelines(device, VK_NULL_HANDLE, 1, &info, callbacks, &out[i]);
    if (result != VK_SUCCESS) return result;
    if (file == NULL) continue;
    VkPipelineExecutableInfoKHR which = {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, NULL, out[i], 0};
    log_statistics(file, device, &which);
    log_assembly(file, device, &which);
    fprintf(file, "end\n");
    fflush(file);
  }
  return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *out) {
  VkDeviceCreateInfo copy = *info;
  const char *extensions[MOST_EXTENSIONS];
  uint32_t count = 0;
  while (count < info->enabledExtensionCount && count < MOST_EXTENSIONS - 1) {
    extensions[count] = info->ppEnabledExtensionNames[count];
    count++;
  }
  extensions[count++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR feature = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, (void *)info->pNext, VK_TRUE};
  copy.ppEnabledExtensionNames = extensions;
  copy.enabledExtensionCount = count;
  copy.pNext = &feature;
  VkResult result = driver_create_device(physical, &copy, callbacks, out);
  if (result != VK_SUCCESS) return result;
  properties = (PFN_vkGetPipelineExecutablePropertiesKHR)driver_device_lookup(*out, "vkGetPipelineExecutablePropertiesKHR");
  statistics = (PFN_vkGetPipelineExecutableStatisticsKHR)driver_device_lookup(*out, "vkGetPipelineExecutableStatisticsKHR");
  representations = (PFN_vkGetPipelineExecutableInternalRepresentationsKHR)driver_device_lookup(
      *out, "vkGetPipelineExecutableInternalRepresentationsKHR");
  return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_lookup(VkDevice device, const char *name);

/* A function of ours in the place of the driver's, whose own is kept in `kept` where ours calls it. */
static const struct {
  const char *name;
  void *ours;
  void **kept;
} REPLACED[] = {
    {"vkGetDeviceProcAddr", device_lookup, (void **)&driver_device_lookup},
    {"vkCreateDevice", create_device, (void **)&driver_create_device},
    {"vkCreateComputePipelines", create_pipelines, (void **)&driver_create_pipelines},
    {"vkGetPhysicalDeviceMemoryProperties", memory, (void **)&driver_memory},
    {"vkGetPhysicalDeviceMemoryProperties2", memory2, (void **)&driver_memory2},
    {"vkGetPhysicalDeviceMemoryProperties2KHR", memory2, (void **)&driver_memory2},
    {"vkGetBufferMemoryRequirements", needs, (void **)&driver_needs},
    {"vkGetBufferMemoryRequirements2", needs2, (void **)&driver_needs2},
    {"vkGetBufferMemoryRequirements2KHR", needs2, (void **)&driver_needs2},
    {"vkAllocateMemory", allocate, NULL},
    {"vkFreeMemory", release, NULL},
    {"vkMapMemory", map, NULL},
    {"vkCreateFence", create_handle, NULL},
    {"vkCreateSemaphore", create_handle, NULL},
    {"vkCreateQueryPool", create_handle, NULL},
    {"vkGetSemaphoreCounterValue", counter, NULL},
    {"vkGetSemaphoreCounterValueKHR", counter, NULL},
};

static PFN_vkVoidFunction ours(const char *name, PFN_vkVoidFunction found) {
  if (found == NULL) return NULL;
  for (size_t i = 0; i < sizeof REPLACED / sizeof *REPLACED; i++) {
    if (strcmp(name, REPLACED[i].name) != 0) continue;
    if (REPLACED[i].kept != NULL) *REPLACED[i].kept = (void *)found;
    return (PFN_vkVoidFunction)REPLACED[i].ours;
  }
  return does_nothing(name) ? (PFN_vkVoidFunction)nothing : found;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_lookup(VkDevice device, const char *name) {
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)device_lookup;
  return ours(name, driver_device_lookup(device, name));
}

static int open_driver(void) {
  if (driver_lookup != NULL) return 1;
  const char *path = getenv("NULLCARD_DRIVER");
  void *library = dlopen(path != NULL ? path : "libvulkan_radeon.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "nullcard: %s\n", dlerror());
    return 0;
  }
  VkResult(VKAPI_PTR * negotiate)(uint32_t *) =
      (VkResult(VKAPI_PTR *)(uint32_t *))dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
  uint32_t version = LOADER_INTERFACE;
  if (negotiate != NULL) negotiate(&version);
  driver_lookup = (Lookup)dlsym(library, "vk_icdGetInstanceProcAddr");
  driver_physical_lookup = (Lookup)dlsym(library, "vk_icdGetPhysicalDeviceProcAddr");
  return driver_lookup != NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  if (!open_driver()) return VK_ERROR_INITIALIZATION_FAILED;
  if (*version > LOADER_INTERFACE) *version = LOADER_INTERFACE;
  return VK_SUCCESS;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char *name) {
  return open_driver() ? ours(name, driver_lookup(instance, name)) : NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name) {
  if (!open_driver() || driver_physical_lookup == NULL) return NULL;
  return ours(name, driver_physical_lookup(instance, name));
}
