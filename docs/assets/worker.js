// Lets the search of these pages work when they are opened from a disk: browsers start no Worker there. The script of the
// worker runs in a hidden frame instead, with the same messages in and out.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.waiting = []
      this.onmessage = null
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.documentElement.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...addresses) =>
        addresses.reduce((done, one) => done.then(() => this.load(one)), Promise.resolve())
      this.ready = this.load(address).then(() => this.deliver())
    }

    load(address) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script")
        script.src = new URL(address, location.href).href
        script.onload = resolve
        script.onerror = reject
        this.frame.contentDocument.documentElement.append(script)
      })
    }

    deliver() {
      const inside = this.frame.contentWindow
      for (const data of this.waiting) inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      this.waiting = []
      this.isReady = true
    }

    postMessage(data) {
      this.waiting.push(data)
      if (this.isReady) this.deliver()
    }

    terminate() {
      this.frame.remove()
    }
  }
}
